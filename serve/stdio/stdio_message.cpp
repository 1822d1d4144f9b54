// SPDX-License-Identifier: Apache-2.0
#include "serve/stdio/stdio_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/operations/request_check.h"
#include "core/text/json_line.h"
#include "core/text/suggest.h"

namespace ak::stdio {
namespace {

constexpr std::string_view kForm =
    R"(expected {"id": ..., "operation": NAME, "request": {...}} or {"stop": ID})";

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

/// A member that the form does not know; empty where there is none.
std::string unknown_member(const Json& json) {
  constexpr std::array<std::string_view, 4> kMembers{"id", "operation", "request", "stop"};
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(kMembers, name) == kMembers.end()) return name;
  }
  return "";
}

/// What is wrong with the form of a request; empty when nothing is.
std::string form_error(const Json& json) {
  if (const std::string name = unknown_member(json); !name.empty())
    return fmt::format("unknown member '{}'; {}", sanitize(name, 80), kForm);
  if (!json.contains("id") || !is_id(json["id"])) return "expected an id that is a string or an integer";
  if (json.contains("stop")) return fmt::format("a stop has no id of its own; {}", kForm);
  if (!json.contains("operation") || !json["operation"].is_string())
    return "expected an operation that is a string; `alphakernel operations` lists them";
  return "";
}

}  // namespace

std::variant<OperationRequest, StopRequest, BadRequest> read_request(std::string_view line) {
  const Result<Json> read = parse_json_line(line);
  if (!read) return BadRequest{nullptr, read.error().message};
  const Json& json = *read;
  if (!json.is_object()) return BadRequest{nullptr, std::string(kForm)};
  if (json.size() == 1 && json.contains("stop") && is_id(json["stop"])) return StopRequest{json["stop"]};
  const Json id = json.contains("id") && is_id(json["id"]) ? json["id"] : Json();
  if (std::string wrong = form_error(json); !wrong.empty()) return BadRequest{id, std::move(wrong)};
  OperationRequest wanted{.id = id, .request = json.contains("request") ? json["request"] : Json::object()};
  try {
    wanted.operation = &operations::operation_named(json["operation"].get<std::string>());
  } catch (const Error& error) {
    return BadRequest{id, error.what()};
  }
  if (std::string wrong =
          operations::request_error(wanted.operation->name, wanted.operation->parameters, wanted.request);
      !wrong.empty())
    return BadRequest{id, std::move(wrong)};
  return wanted;
}

Json answer_message(const Json& id, const operations::Answer& answer) {
  return {{"id", id}, {"answer", answer.content}, {"failed", answer.failed}};
}

Json event_message(const Json& id, std::string_view event, const Json& data) {
  return {{"id", id}, {"event", event}, {"data", data}};
}

Json error_message(const Json& id, ExitCode code, std::string_view message) {
  return {{"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

}  // namespace ak::stdio

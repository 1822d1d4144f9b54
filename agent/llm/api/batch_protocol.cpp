// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/batch_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "core/text/hash.h"
#include "dialect_table.h"

namespace ak::agent {
namespace {

bool is_anthropic(const Provider& provider) { return provider.dialect == &kAnthropicMessages; }

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string custom_id(std::size_t index) { return fmt::format("request-{}", index); }

/// A number that no request has where the id is none of ours.
std::size_t index_of(const std::string& id) {
  constexpr std::string_view kPrefix = "request-";
  std::size_t index = std::string::npos;
  if (id.starts_with(kPrefix)) std::from_chars(id.data() + kPrefix.size(), id.data() + id.size(), index);
  return index;
}

/// A batch is known by its name in addresses: nothing else may come in.
bool is_name(std::string_view id) {
  return !id.empty() && id.size() < 200 && std::ranges::all_of(id, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
  });
}

BatchStep step_of(const PlainAnswer& answer) {
  BatchStep step{.failure = answer.failure};
  if (step.failure) return step;
  const Json json = try_parse_json(answer.body);
  step.id = text_of(json, "id");
  if (!is_name(step.id)) step.failure = {LlmFault::malformed, "a batch without an id"};
  return step;
}

BatchResult anthropic_result(const Json& line) {
  const Json& result = member(line, "result");
  const std::string type = text_of(result, "type");
  BatchResult one{.index = index_of(text_of(line, "custom_id")), .body = member(result, "message")};
  if (type == "errored") one.failure = read_failure(400, member(result, "error"), "the request failed");
  if (type == "canceled") one.failure = {LlmFault::cancelled, ForeignText("the batch was cancelled")};
  if (type == "expired")
    one.failure = {LlmFault::timeout, ForeignText("the batch expired before this request was worked on")};
  return one;
}

BatchResult openai_result(const Json& line) {
  const Json& response = member(line, "response");
  BatchResult one{.index = index_of(text_of(line, "custom_id")), .body = member(response, "body")};
  const std::int64_t status = count_of(response, "status_code");
  if (!member(line, "error").is_null())
    one.failure = read_failure(400, Json{{"error", member(line, "error")}}, "the request failed");
  else if (status < 200 || status >= 300)
    one.failure = read_failure(static_cast<long>(status), one.body, "the request failed");
  return one;
}

constexpr std::array<std::string_view, 4> kOpenAiEnds{"completed", "failed", "expired", "cancelled"};

}  // namespace

std::string BatchProtocol::path() const {
  return is_anthropic(provider_) ? "/v1/messages/batches" : "/batches";
}

/// OpenAI's requests travel as their own file.
BatchStep BatchProtocol::upload(const std::vector<Json>& bodies) const {
  std::string lines;
  for (std::size_t i = 0; i < bodies.size(); ++i)
    lines += dumped({{"custom_id", custom_id(i)},
                     {"method", "POST"},
                     {"url", "/v1" + std::string(provider_.dialect->path)},
                     {"body", bodies[i]}}) +
             "\n";
  const std::string boundary = fmt::format("{:016x}{:016x}", random_seed(), random_seed());
  const std::string form = fmt::format(
      "--{0}\r\nContent-Disposition: form-data; "
      "name=\"purpose\"\r\n\r\nbatch\r\n--{0}\r\nContent-Disposition: "
      "form-data; name=\"file\"; filename=\"requests.jsonl\"\r\nContent-Type: "
      "application/jsonl\r\n\r\n{1}\r\n"
      "--{0}--\r\n",
      boundary, lines);
  return step_of(call_({.url = "/files",
                        .headers = {{"content-type", "multipart/form-data; boundary=" + boundary}},
                        .body = form,
                        .limits = {}}));
}

BatchStep BatchProtocol::create(const std::vector<Json>& bodies) const {
  Json json{{"requests", Json::array()}};
  if (is_anthropic(provider_)) {
    for (std::size_t i = 0; i < bodies.size(); ++i)
      json["requests"].push_back({{"custom_id", custom_id(i)}, {"params", bodies[i]}});
  } else {
    const BatchStep file = upload(bodies);
    if (file.failure) return file;
    json = {{"input_file_id", file.id},
            {"endpoint", "/v1" + std::string(provider_.dialect->path)},
            {"completion_window", "24h"}};
  }
  return step_of(call_({.url = path(), .headers = {}, .body = dumped(json), .limits = {}}));
}

BatchStep BatchProtocol::look(const std::string& id) const {
  const PlainAnswer answer =
      call_({.url = path() + "/" + id, .headers = {}, .body = "", .limits = {}, .is_get = true});
  BatchStep step = step_of(answer);
  if (step.failure) return step;
  const Json json = try_parse_json(answer.body);
  if (is_anthropic(provider_)) {
    step.ended = text_of(json, "processing_status") == "ended";
    step.result_paths = {path() + "/" + id + "/results"};
    return step;
  }
  step.ended = std::ranges::find(kOpenAiEnds, text_of(json, "status")) != kOpenAiEnds.end();
  for (const char* file : {"output_file_id", "error_file_id"}) {
    if (const std::string name = text_of(json, file); is_name(name))
      step.result_paths.push_back("/files/" + name + "/content");
  }
  if (step.ended && step.result_paths.empty())
    step.failure = {LlmFault::rejected, "the batch has ended without results: " + text_of(json, "status")};
  return step;
}

BatchStep BatchProtocol::results(const BatchStep& ended) const {
  BatchStep step = ended;
  for (const std::string& at : ended.result_paths) {
    const PlainAnswer answer = call_({.url = at, .headers = {}, .body = "", .limits = {}, .is_get = true});
    if (answer.failure) {
      step.failure = answer.failure;
      return step;
    }
    std::istringstream lines(answer.body);
    for (std::string text; std::getline(lines, text);) {
      const Json line = try_parse_json(text);
      if (line.is_object())
        step.results.push_back(is_anthropic(provider_) ? anthropic_result(line) : openai_result(line));
    }
  }
  return step;
}

void BatchProtocol::cancel(const std::string& id) const {
  static_cast<void>(call_({.url = path() + "/" + id + "/cancel", .headers = {}, .body = "", .limits = {}}));
}

}  // namespace ak::agent

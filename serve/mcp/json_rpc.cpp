// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/json_rpc.h"

#include "core/text/suggest.h"

namespace ak::mcp {
namespace {

// MCP nests less than ten deep. Copying and writing JSON takes stack for every level.
constexpr int kMaxNesting = 64;
constexpr std::size_t kMaxReasonBytes = 300;

bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxNesting) return true;
  }
  return false;
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

/// What is wrong with the members of a request; empty when nothing is.
std::string input_error(const Json& json) {
  if (json.value("jsonrpc", Json()) != "2.0") return "expected \"jsonrpc\": \"2.0\"";
  if (json.contains("id") && !is_id(json["id"])) return "expected an id that is a string or an integer";
  if (!json.contains("method") || !json["method"].is_string()) return "expected a method that is a string";
  return "";
}

}  // namespace

Result<Json, RpcError> parse_line(std::string_view line) {
  if (nests_too_deeply(line))
    return RpcError{RpcCode::parse_error,
                    "the message is nested more than " + std::to_string(kMaxNesting) + " levels deep"};
  try {
    return parse_json(line);
  } catch (const Json::exception& error) {
    return RpcError{RpcCode::parse_error, "the line is not JSON: " + sanitize(error.what(), kMaxReasonBytes)};
  }
}

Result<std::optional<Message>, BadMessage> read_message(const Json& json) {
  if (!json.is_object())
    return BadMessage{nullptr, {RpcCode::invalid_request, "expected a JSON object, one message per line"}};
  const Json id = json.contains("id") && is_id(json["id"]) ? json["id"] : Json();
  const bool is_answer = !json.contains("method") && (json.contains("result") || json.contains("error"));
  if (is_answer) return std::optional<Message>();
  if (std::string wrong = input_error(json); !wrong.empty())
    return BadMessage{id, {RpcCode::invalid_request, std::move(wrong)}};
  Message message{.id = id, .method = json["method"]};
  if (json.contains("params")) message.params = json["params"];
  if (!message.params.is_object())
    return BadMessage{id, {RpcCode::invalid_params, "expected params that are an object"}};
  return std::optional(std::move(message));
}

Json result_message(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_message(const Json& id, const RpcError& error) {
  Json body{{"code", static_cast<int>(error.code)}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

Json notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace ak::mcp

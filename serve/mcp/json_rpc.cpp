// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/json_rpc.h"

namespace ak::mcp {
namespace {

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

/// What is wrong with the members of a request; empty when nothing is.
std::string input_error(const Json& json) {
  if (json.value("jsonrpc", Json()) != "2.0") return "expected \"jsonrpc\": \"2.0\"";
  if (json.contains("id") && !is_id(json["id"])) return "expected an id that is a string or an integer";
  if (!json.contains("method") || !json["method"].is_string()) return "expected a method that is a string";
  return "";
}

}  // namespace

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

}  // namespace ak::mcp

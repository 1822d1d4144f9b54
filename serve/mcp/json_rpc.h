// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"
#include "core/text/json.h"

namespace ak::mcp {

/// Error codes of JSON-RPC 2.0, and the one MCP adds for a protocol revision that is not known.
enum class RpcCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  unsupported_version = -32022,
};

struct RpcError {
  RpcCode code = RpcCode::internal_error;
  std::string message;
  Json data = nullptr;  ///< left out of the answer where null
};

/// A request or a notification; answers to requests of ours do not occur.
struct Message {
  Json id;  ///< string or integer; null: a notification, never to be answered
  std::string method;
  Json params = Json::object();
};

/// What cannot be understood, and which request to blame: null where even that is not known.
struct BadMessage {
  Json id;
  RpcError error;
};

/// One JSON-RPC message. Nothing for an answer, which no one waits for.
[[nodiscard]] Result<std::optional<Message>, BadMessage> read_message(const Json& json);

[[nodiscard]] Json result_message(const Json& id, Json result);
[[nodiscard]] Json error_message(const Json& id, const RpcError& error);
[[nodiscard]] Json notification(std::string_view method, Json params);

}  // namespace ak::mcp

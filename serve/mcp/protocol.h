// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "serve/mcp/json_rpc.h"
#include "serve/mcp/tool.h"

namespace ak::mcp {

/// A client that names the revision in every request, or one that shook hands at the start.
enum class ProtocolMode : std::uint8_t { handshake, stateless };

/// A call whose name and arguments were checked.
struct ToolCall {
  Json id;
  ProtocolMode mode = ProtocolMode::handshake;
  const Tool* tool = nullptr;
  Json arguments;
  std::optional<Json> progress_token;
};

/// A message to send as it is.
struct Reply {
  Json message;
};
/// The client does not want the answer to this request any more.
struct Cancellation {
  Json request_id;
};
using Action = std::variant<Reply, ToolCall, Cancellation>;

/// The Model Context Protocol without input and output: what each line asks for. Both eras may be spoken by
/// turns. Never throws for what a line holds.
class Protocol {
 public:
  /// @param tools that it offers; outlive it
  explicit Protocol(std::string version, std::span<const Tool> tools = all_tools())
      : program_version_(std::move(version)), tools_(tools) {}
  [[nodiscard]] std::vector<Action> read(std::string_view line);

 private:
  std::optional<Action> act(const Json& json);
  std::optional<Action> request(const Message& message);
  Json initialize(const Message& message);
  [[nodiscard]] Json discover() const;
  [[nodiscard]] Json server_info() const;

  const std::string program_version_;
  const std::span<const Tool> tools_;
  std::string negotiated_;  ///< revision of the handshake; empty before it
};

/// The answer to a call. @param answer shown as structured content and, for clients that know no such
/// thing, as text
[[nodiscard]] Json call_result(ProtocolMode mode, const ToolAnswer& answer);
/// The answer to a call that could not be done, in words for the model.
[[nodiscard]] Json call_failure(ProtocolMode mode, const std::string& words);
[[nodiscard]] Json progress_message(const Json& token, double progress, const std::string& words);

}  // namespace ak::mcp

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

namespace ak::testing {

/// A client of the real `alphakernel mcp`, over pipes.
class McpSession {
 public:
  /// Starts it in the folder of `box`.
  explicit McpSession(const Sandbox& box);
  /// Closes its input, and kills it if it does not end.
  ~McpSession();

  void send_line(const std::string& line);
  void send(const Json& message) { send_line(message.dump()); }
  /// The next message. Throws where none comes, or where a line is not a JSON object.
  Json receive();
  /// Sends a request with the next id, and returns the message that answers it.
  Json request(const std::string& method, Json params = Json::object());
  /// Sends tools/call; returns the result.
  Json call(const std::string& tool, Json arguments = Json::object());
  void shake_hands(const std::string& version = "2025-11-25");

  /// Ends its input; its exit code, -1 where it does not end.
  int finish();
  void close_input() { in_.reset(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int last_id() const { return id_; }
  /// Messages that came before the answer to the last request.
  std::vector<Json> notifications;

 private:
  FileDescriptor in_, out_;
  std::string buffer_;
  pid_t pid_ = 0;
  int id_ = -1;
};

/// What a stateless client says of itself in every request.
[[nodiscard]] Json stateless(Json params = Json::object());

/// The processes whose parent is `pid`, and theirs.
[[nodiscard]] std::vector<pid_t> descendants(pid_t pid);
[[nodiscard]] bool is_alive(pid_t pid);  ///< and no zombie

}  // namespace ak::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "core/text/file.h"
#include "tests/support/patience.h"

namespace ak::testing {

struct HttpReply {
  int status = 0;                              ///< 0: the server closed without an answer
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

/// A client that sends bytes as a test wants them, on one connection to 127.0.0.1.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);

  void send(const std::string& bytes);
  /// One answer: head and, unless `head_only`, the body of the length that it says.
  HttpReply receive(bool head_only = false);
  /// What comes until `text` was in it, the server closes, or the time is over.
  std::string read_until(const std::string& text, std::chrono::milliseconds limit = kPatience);
  /// Waits until the server closes; false where it does not.
  bool is_closed();

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  bool fill(std::chrono::milliseconds limit);
  FileDescriptor socket_;
  std::string buffer_;
};

/// "GET /path HTTP/1.1" with these headers; Host is added where none is given.
[[nodiscard]] std::string get_request(std::uint16_t port, const std::string& path,
                                      const std::map<std::string, std::string>& headers = {});

/// Asks once on its own connection.
[[nodiscard]] HttpReply get(std::uint16_t port, const std::string& path,
                            const std::map<std::string, std::string>& headers = {});

}  // namespace ak::testing

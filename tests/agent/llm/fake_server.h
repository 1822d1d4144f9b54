// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/text/file.h"

namespace ak::agent::test {

/// A piece of what a server sends, and how long it waits before.
struct Piece {
  std::string bytes;
  std::chrono::milliseconds pause{0};
};

/// What a connection gets: bytes as they are, HTTP or not.
struct Script {
  std::vector<Piece> pieces;
  enum class End { close, reset, hold } end = End::close;
  bool at_once = false;  ///< without waiting for a request
  bool endless = false;  ///< the last piece again and again, until the client has gone
};

/// An HTTP server on the loopback interface that does exactly what it is asked for: connection by connection, the
/// last script for all that follow. Serves from construction to destruction, one connection at a time.
class FakeServer {
 public:
  explicit FakeServer(std::vector<Script> scripts);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] std::string url() const;
  /// Every request so far: head and body as they came.
  [[nodiscard]] std::vector<std::string> requests() const;

 private:
  void serve();
  void answer(int connection, const Script& script);

  FileDescriptor listener_;
  int port_ = 0;
  std::vector<Script> scripts_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A whole response with the right length.
[[nodiscard]] std::string response(int status, const std::string& body, const std::string& extra_headers = "",
                                   const std::string& type = "application/json");
/// Head of a stream that ends when the connection is closed.
[[nodiscard]] std::string stream_head();
[[nodiscard]] std::string body_of(const std::string& request);

}  // namespace ak::agent::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "serve/dashboard/http_connection.h"
#include "serve/dashboard/http_request.h"
#include "serve/dashboard/http_response.h"

namespace ak::dashboard {

/// What a server answers. No function may throw.
class HttpService {
 public:
  virtual ~HttpService() = default;
  /// What takes no time: files, streams, refusals. Nothing where a page has to be made.
  virtual std::optional<HttpResponse> answer_at_once(const HttpRequest& request) = 0;
  /// The page; called on several threads at once.
  virtual HttpResponse make_page(const HttpRequest& request) = 0;
  /// For a request that could not be read or served: a page with that status.
  virtual HttpResponse refusal(int status) = 0;
};

/// HTTP/1.1 on the loopback interface. One thread accepts, reads and writes without ever waiting for a client, so
/// that slow ones hold up no one; others make pages. Each connection serves one request: a body that came with it,
/// which is not read, can never be taken for the next one.
class HttpServer {
 public:
  /// Listens on 127.0.0.1; port 0 takes a free one. Throws Error(environment) where it is taken. The service
  /// must outlive the server.
  HttpServer(HttpService& service, std::uint16_t port, const ServerLimits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Serves until `stop` is set, which it sees within a quarter of a second; then ends streams and threads. To be
  /// called once.
  void run(const std::atomic<bool>& stop);

  /// Sends `event` (lines of text/event-stream with their empty line) to every stream; of several at once a
  /// stream gets the last. From any thread.
  void broadcast(std::string event);
  /// Streams that are open. From any thread.
  [[nodiscard]] std::size_t streams() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace ak::dashboard

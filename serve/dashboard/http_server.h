// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ak::dashboard {

using Fields = std::vector<std::pair<std::string, std::string>>;  ///< name and value

/// The value of the first field of that name; nothing without one.
[[nodiscard]] std::optional<std::string_view> find_field(const Fields& fields, std::string_view name);

/// "Not Found" for 404, as the title of a page.
[[nodiscard]] std::string_view reason_of(int status);

struct HttpRequest {
  std::string method;
  std::string path;     ///< decoded, begins with '/', no control characters
  Fields query = {};    ///< decoded
  Fields headers = {};  ///< names in lower case
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  Fields headers = {};
  bool stream = false;  ///< the connection stays open and is sent what HttpServer::broadcast() is given
};

/// What a server answers; called on several threads at once.
class HttpService {
 public:
  virtual ~HttpService() = default;
  virtual HttpResponse answer(const HttpRequest& request) = 0;  ///< must not throw
  /// For a request that could not be read or served: a page with that status.
  virtual HttpResponse refusal(int status) = 0;
};

struct ServerLimits {
  std::size_t threads = 40;                    ///< connections served at once; a browser opens six, more wait
  std::size_t streams = 16;                    ///< of these; one a visible tab. More are answered 503
  std::chrono::milliseconds read_time{2'000};  ///< for the next bytes of a request
  std::chrono::milliseconds write_time{5'000};  ///< for a client to take the next bytes of an answer
  std::chrono::milliseconds heartbeat{15'000};  ///< of streams, so that the page notices when we are gone
};

/// cpp-httplib on the loopback interface. Each connection serves one request: a body that came with it, which
/// is not read, can never be taken for the next one.
class HttpServer {
 public:
  /// Listens on 127.0.0.1; port 0 takes a free one. Throws Error(environment) where it is taken. The service
  /// must outlive the server.
  HttpServer(HttpService& service, std::uint16_t port, const ServerLimits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Serves until `stop` is set, which it sees within a quarter of a second; then ends streams and threads.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/file.h"
#include "tools/dashboard/http_message.h"

namespace ak::tools::dashboard {

struct ServerLimits {
  HttpLimits http = {};
  std::size_t connections = 64;  ///< a browser keeps six; one more closes the one that has waited longest
  std::size_t streams = 16;      ///< one a visible tab
  std::size_t workers = 4;
  std::size_t queue = 32;                        ///< requests that wait for a worker; more are answered 503
  std::chrono::milliseconds head_time{5'000};    ///< from the first byte of a request to its last
  std::chrono::milliseconds idle_time{30'000};   ///< between requests
  std::chrono::milliseconds write_time{30'000};  ///< for a client to take an answer
  std::chrono::milliseconds heartbeat{
      15'000};  ///< of streams, so that either end notices when the other is gone
  std::size_t stream_backlog_bytes = 64u << 10;  ///< a stream that takes nothing is closed at so much
};

/// What a server answers.
class HttpService {
 public:
  virtual ~HttpService() = default;
  /// Called on the server's own thread for every request: an answer that is at hand, or nothing, and then
  /// answer() is asked. Must not block or throw.
  virtual std::optional<HttpResponse> answer_at_once(const HttpRequest& request) = 0;
  /// Called on a worker; several at a time. Must not throw.
  virtual HttpResponse answer(const HttpRequest& request) = 0;
  /// For a request that could not be read or served: a page with that status.
  virtual HttpResponse refusal(int status) = 0;
};

/// An HTTP/1.1 server on the loopback interface for a few clients. One thread moves all bytes, so that a
/// client that is slow, silent or a stream holds no thread; every wait has an end.
class HttpServer {
 public:
  /// Listens on 127.0.0.1; port 0 takes a free one. Throws Error(environment) where it is taken. The service
  /// must outlive the server.
  HttpServer(HttpService& service, std::uint16_t port, ServerLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Serves until `stop` is set, which it sees within a quarter of a second; then closes all connections and
  /// ends its workers.
  void run(const std::atomic<bool>& stop);

  /// Sends `event` (lines of text/event-stream with their empty line) to every stream. From any thread.
  void broadcast(std::string event);
  /// Streams that are open. From any thread.
  [[nodiscard]] std::size_t streams() const { return streams_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { reading, working, writing, stream };
  struct Connection {
    FileDescriptor socket = {};
    State state = State::reading;
    std::string in = {}, out = {};
    std::size_t sent = 0;       ///< of `out`
    bool keep_alive = false;    ///< after `out`
    bool turns_stream = false;  ///< after `out`
    bool closing = false;       ///< nothing more is sent; what still comes is thrown away
    Clock::time_point deadline = {};
  };
  struct Job {
    std::uint64_t connection = 0;
    HttpRequest request = {};
  };
  struct Answer {
    std::uint64_t connection = 0;
    HttpRequest request = {};
    HttpResponse response = {};
  };

  void work();
  void wait_for_events();
  void accept_clients();
  void make_room();
  void take_answers();
  void serve(std::uint64_t id, Connection& connection, short events);
  void serve_pipelined();
  void receive(Connection& connection);
  void next_request(std::uint64_t id, Connection& connection);
  void begin_answer(Connection& connection, const HttpRequest* request, const HttpResponse& response);
  void transmit(Connection& connection);
  void answer_is_out(Connection& connection);
  void send_events();
  void end_overdue();
  [[nodiscard]] bool enqueue(Job job);
  void remove_closed();
  void count_streams();
  void wake() const;

  HttpService& service_;
  const ServerLimits limits_;
  FileDescriptor listener_, wakeup_;
  std::uint16_t port_ = 0;
  std::map<std::uint64_t, Connection> connections_;  ///< by the order they came in
  std::uint64_t next_id_ = 1;
  Clock::time_point next_heartbeat_ = {};
  std::atomic<std::size_t> streams_{0};

  std::mutex mutex_;  ///< of what follows
  std::condition_variable job_ready_;
  std::deque<Job> jobs_;
  std::vector<Answer> answers_;
  std::vector<std::string> events_;
  bool ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace ak::tools::dashboard

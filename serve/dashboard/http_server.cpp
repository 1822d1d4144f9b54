// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/http_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"

namespace ak::dashboard {
namespace {

// How soon a stop is seen, and how soon a stream whose reader has gone.
constexpr std::chrono::milliseconds kStopPoll{100}, kStreamPoll{500};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request{.method = from.method, .path = from.path};
  for (const auto& [name, value] : from.params) request.query.emplace_back(name, value);
  for (const auto& [name, value] : from.headers) request.headers.emplace_back(lower(name), value);
  return request;
}

}  // namespace

std::string_view reason_of(int status) {
  struct Reason {
    int status;
    std::string_view text;
  };
  static constexpr std::array kReasons{Reason{400, "Bad Request"}, Reason{404, "Not Found"},
                                       Reason{500, "Internal Server Error"},
                                       Reason{503, "Service Unavailable"}};
  const auto found = std::ranges::find(kReasons, status, &Reason::status);
  return found == kReasons.end() ? "Error" : found->text;
}

std::optional<std::string_view> find_field(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

class HttpServer::Engine {
 public:
  Engine(HttpService& service, std::uint16_t port, const ServerLimits& limits)
      : service_(service), limits_(limits) {
    server_.new_task_queue = [this] {
      return new httplib::ThreadPool(limits_.threads);
    };  // httplib deletes it
    // Not SO_REUSEPORT, httplib's default: another program could share the port with us.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server_.set_keep_alive_max_count(1);
    // For the first byte of a request, in whole seconds.
    server_.set_keep_alive_timeout(std::chrono::ceil<std::chrono::seconds>(limits_.read_time).count());
    server_.set_read_timeout(limits_.read_time);
    server_.set_write_timeout(limits_.write_time);
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      give(has_control(request.path) ? service_.refusal(400) : service_.answer(request_of(request)),
           response);
      return httplib::Server::HandlerResponse::Handled;
    });
    // What httplib could not read; an answer of ours keeps its own body.
    server_.set_error_handler(
        httplib::Server::HandlerWithResponse([this](const httplib::Request&, httplib::Response& response) {
          if (response.body.empty() && response.status != 304)
            give(service_.refusal(response.status), response);
          return httplib::Server::HandlerResponse::Handled;
        }));
    port_ = port == 0                                 ? server_.bind_to_any_port("127.0.0.1")
            : server_.bind_to_port("127.0.0.1", port) ? port
                                                      : -1;
    if (port_ <= 0)
      fail(ExitCode::environment,
           "cannot listen on port {} of 127.0.0.1: it is taken, or not for you; --port 0 takes a free port",
           port);
  }

  void run(const std::atomic<bool>& stop) {
    std::thread watch([&] {
      while (!stop) std::this_thread::sleep_for(kStopPoll);
      end_streams();
      server_.stop();
    });
    server_.listen_after_bind();
    watch.join();
  }

  void broadcast(std::string event) {
    {
      const std::lock_guard lock(mutex_);
      latest_ = std::move(event);
      ++sequence_;
    }
    changed_.notify_all();
  }

  [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }
  [[nodiscard]] std::size_t streams() const { return streams_; }

 private:
  void give(const HttpResponse& from, httplib::Response& response) {
    if (from.stream && ++streams_ > limits_.streams) {
      --streams_;
      return give(service_.refusal(503), response);
    }
    response.status = from.status;
    for (const auto& [name, value] : from.headers) response.set_header(name, value);
    if (from.stream)
      response.set_chunked_content_provider(from.type, stream(from.body), [this](bool) { --streams_; });
    else
      response.set_content(from.body, from.type);
  }

  /// Sends `first_event`, then every event and in between a comment at each heartbeat, until
  /// either side ends.
  httplib::ContentProviderWithoutLength stream(std::string first_event) {
    const std::lock_guard lock(mutex_);
    return [this, text = std::move(first_event), seen = sequence_, sent = std::chrono::steady_clock::now()](
               std::size_t, httplib::DataSink& sink) mutable {
      if (text.empty() && !wait_for_event(seen, sent, text)) sink.done();
      if (!sink.is_writable()) return false;
      if (text.empty()) return true;
      sent = std::chrono::steady_clock::now();
      const std::string out = std::exchange(text, {});
      return sink.write(out.data(), out.size());
    };
  }

  /// Waits a little; false: it is over. `text` is what there is to send.
  bool wait_for_event(std::uint64_t& seen, std::chrono::steady_clock::time_point sent, std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::min(kStreamPoll, limits_.heartbeat),
                      [&] { return ending_ || sequence_ != seen; });
    if (sequence_ != seen)
      text = latest_;
    else if (std::chrono::steady_clock::now() - sent >= limits_.heartbeat)
      text = ": still here\n\n";
    seen = sequence_;
    return !ending_;
  }

  void end_streams() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
  }

  HttpService& service_;
  const ServerLimits limits_;
  httplib::Server server_;
  int port_ = -1;
  std::atomic<std::size_t> streams_{0};
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::string latest_;
  std::uint64_t sequence_ = 0;
  bool ending_ = false;
};

HttpServer::HttpServer(HttpService& service, std::uint16_t port, const ServerLimits& limits)
    : engine_(std::make_unique<Engine>(service, port, limits)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return engine_->port(); }
void HttpServer::run(const std::atomic<bool>& stop) { engine_->run(stop); }
void HttpServer::broadcast(std::string event) { engine_->broadcast(std::move(event)); }
std::size_t HttpServer::streams() const { return engine_->streams(); }

}  // namespace ak::dashboard

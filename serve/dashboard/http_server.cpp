// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "serve/dashboard/page_threads.h"

namespace ak::dashboard {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using State = HttpConnection::State;

// How soon a stop is seen; and how long no one is accepted where the system has no descriptor left.
constexpr milliseconds kStopPoll{100};

constexpr int kTimeout = 408, kBusy = 503;

/// Listens on 127.0.0.1; nothing where the port is taken.
FileDescriptor listen_on(std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Not SO_REUSEPORT: another program could share the port with us.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return bound && ::listen(socket.get(), SOMAXCONN) == 0 ? std::move(socket) : FileDescriptor();
}

std::uint16_t port_of(int socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace

class HttpServer::Engine {
 public:
  Engine(HttpService& service, std::uint16_t port, const ServerLimits& limits)
      : service_(service),
        limits_(limits),
        listener_(listen_on(port)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!listener_)
      fail(ExitCode::environment,
           "cannot listen on port {} of 127.0.0.1: it is taken, or not for you; --port 0 takes a free port",
           port);
    if (!wake_) fail(ExitCode::environment, "cannot serve pages: {}", std::strerror(errno));
    port_ = port_of(listener_.get());
  }

  void run(const std::atomic<bool>& stop) {
    pages_.emplace(
        limits_.threads, [this](const HttpRequest& request) { return service_.make_page(request); },
        [this] { wake(); });
    while (!stop) turn();
    listener_.reset();
    connections_.clear();
    pages_.reset();
    streams_ = 0;
  }

  void broadcast(std::string event) {
    {
      const std::lock_guard lock(mutex_);
      event_ = std::move(event);
    }
    wake();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t streams() const { return streams_; }

 private:
  /// Waits for what happens next, and does what it asks for.
  void turn() {
    std::vector<pollfd> polled{
        {.fd = wake_.get(), .events = POLLIN, .revents = 0},
        {.fd = steady_clock::now() < pause_end_ ? -1 : listener_.get(), .events = POLLIN, .revents = 0}};
    for (const auto& [number, connection] : connections_)
      polled.push_back({.fd = connection.descriptor(), .events = connection.events(), .revents = 0});
    ::poll(polled.data(), polled.size(), static_cast<int>(time_to_wait().count()));
    now_ = steady_clock::now();
    if (polled[0].revents != 0) take_news();
    auto ready = polled.begin() + 2;
    for (auto& [number, connection] : connections_) serve(number, connection, (ready++)->revents);
    forget_closed();
    if (polled[1].revents != 0) accept_all();
  }

  [[nodiscard]] milliseconds time_to_wait() const {
    auto until = steady_clock::now() + kStopPoll;
    for (const auto& [number, connection] : connections_) until = std::min(until, connection.deadline());
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - steady_clock::now()));
  }

  void wake() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
  }

  /// Pages that were made, and what is to be broadcast.
  void take_news() {
    std::uint64_t count = 0;
    static_cast<void>(::read(wake_.get(), &count, sizeof count));
    for (MadePage& page : pages_->take()) {
      const auto found = connections_.find(page.connection);
      if (found != connections_.end() && found->second.state() == State::waiting)
        give(found->second, page.response);
    }
    std::string event;
    {
      const std::lock_guard lock(mutex_);
      event = std::exchange(event_, {});
    }
    if (event.empty()) return;
    for (auto& [number, connection] : connections_)
      if (connection.state() == State::streaming) connection.push(event, now_);
  }

  void serve(std::uint64_t number, HttpConnection& connection, short events) {
    if (events != 0 && connection.state() == State::reading)
      read(number, connection);
    else if (events != 0)
      connection.on_ready(events, now_);
    const bool late = connection.state() != State::closed && now_ >= connection.deadline();
    if (late && connection.on_time(now_)) give(connection, service_.refusal(kTimeout));
  }

  void read(std::uint64_t number, HttpConnection& connection) {
    auto read = connection.read();
    if (!read) return;
    if (const int* status = std::get_if<int>(&*read)) return give(connection, service_.refusal(*status));
    HttpRequest& request = std::get<HttpRequest>(*read);
    if (const auto response = service_.answer_at_once(request)) return give(connection, *response);
    if (count(State::waiting) + count(State::writing) >= limits_.requests)
      return give(connection, service_.refusal(kBusy));
    connection.wait();
    pages_->add(number, std::move(request));
  }

  void give(HttpConnection& connection, const HttpResponse& response) {
    if (response.stream && count(State::streaming) >= limits_.streams)
      return connection.answer(service_.refusal(kBusy), now_);
    connection.answer(response, now_);
  }

  [[nodiscard]] std::size_t count(State state) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        connections_, [&](const auto& entry) { return entry.second.state() == state; }));
  }

  void accept_all() {
    for (;;) {
      FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) pause_end_ = now_ + kStopPoll;
        if (errno != ECONNABORTED && errno != EINTR) return;
        continue;
      }
      if (connections_.size() >= limits_.connections && !make_room()) continue;
      const std::uint64_t number = ++last_number_;
      const auto added = connections_.try_emplace(number, std::move(socket), limits_, now_).first;
      serve(number, added->second, POLLIN);  // a request mostly comes with its connection
    }
  }

  /// Closes the connection that has been longest without a request, or after its answer; false where all are
  /// being served.
  bool make_room() {
    const auto idle = std::ranges::find_if(connections_, [](const auto& entry) {
      return entry.second.state() == State::reading || entry.second.state() == State::closing ||
             entry.second.state() == State::closed;
    });
    if (idle == connections_.end()) return false;
    connections_.erase(idle);
    return true;
  }

  void forget_closed() {
    std::erase_if(connections_, [](const auto& entry) { return entry.second.state() == State::closed; });
    streams_ = count(State::streaming);
  }

  HttpService& service_;
  const ServerLimits limits_;
  FileDescriptor listener_, wake_;
  std::uint16_t port_ = 0;
  // Of the thread that runs.
  std::map<std::uint64_t, HttpConnection> connections_;  ///< by number: the oldest first
  std::uint64_t last_number_ = 0;
  steady_clock::time_point now_, pause_end_;
  std::optional<PageThreads> pages_;
  std::atomic<std::size_t> streams_{0};
  std::mutex mutex_;
  std::string event_;  ///< guarded by mutex_: what is to be broadcast
};

HttpServer::HttpServer(HttpService& service, std::uint16_t port, const ServerLimits& limits)
    : engine_(std::make_unique<Engine>(service, port, limits)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return engine_->port(); }
void HttpServer::run(const std::atomic<bool>& stop) { engine_->run(stop); }
void HttpServer::broadcast(std::string event) { engine_->broadcast(std::move(event)); }
std::size_t HttpServer::streams() const { return engine_->streams(); }

}  // namespace ak::dashboard

// SPDX-License-Identifier: Apache-2.0
#include "tools/dashboard/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace ak::tools::dashboard {
namespace {

constexpr int kPollMs = 250;   // how late a stop or a deadline may be seen
constexpr int kBacklog = 128;  // clients that the system lets wait while one round of the loop goes on

FileDescriptor listen_on_loopback(std::uint16_t port) {
  FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener) fail(ExitCode::environment, "making a socket: {}", std::strerror(errno));
  const int on = 1;  // a port in TIME_WAIT can be taken again at once
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), kBacklog) != 0)
    fail(ExitCode::environment, "listening on 127.0.0.1:{}: {}; --port 0 takes a free port", port,
         std::strerror(errno));
  return listener;
}

std::uint16_t port_of(int listener) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpServer::HttpServer(HttpService& service, std::uint16_t port, ServerLimits limits)
    : service_(service),
      limits_(limits),
      listener_(listen_on_loopback(port)),
      wakeup_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      port_(port_of(listener_.get())) {
  if (!wakeup_) fail(ExitCode::environment, "making an event descriptor: {}", std::strerror(errno));
}

HttpServer::~HttpServer() = default;

void HttpServer::run(const std::atomic<bool>& stop) {
  next_heartbeat_ = Clock::now() + limits_.heartbeat;
  for (std::size_t i = 0; i < limits_.workers; ++i) workers_.emplace_back([this] { work(); });
  while (!stop) {
    wait_for_events();
    take_answers();
    serve_pipelined();
    send_events();
    end_overdue();
    remove_closed();
  }
  listener_.reset();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  job_ready_.notify_all();
  connections_.clear();  // browsers see the end before the last query is over
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  streams_ = 0;
}

void HttpServer::broadcast(std::string event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  wake();
}

void HttpServer::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wakeup_.get(), &one, sizeof one));  // full: then it is awake already
}

void HttpServer::work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      job_ready_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    HttpResponse response = service_.answer(job.request);
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back(
          {.connection = job.connection, .request = std::move(job.request), .response = std::move(response)});
    }
    wake();
  }
}

bool HttpServer::enqueue(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= limits_.queue) return false;
    jobs_.push_back(std::move(job));
  }
  job_ready_.notify_one();
  return true;
}

void HttpServer::wait_for_events() {
  std::vector<pollfd> waiting{{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                              {.fd = wakeup_.get(), .events = POLLIN, .revents = 0}};
  std::vector<std::uint64_t> ids;
  for (const auto& [id, connection] : connections_) {
    short events = connection.sent < connection.out.size() ? POLLOUT : 0;
    // While a request is worked on, what the client sends next stays where it is.
    if (connection.state == State::reading || connection.state == State::stream) events |= POLLIN;
    waiting.push_back({.fd = connection.socket.get(), .events = events, .revents = 0});
    ids.push_back(id);
  }
  if (poll(waiting.data(), waiting.size(), kPollMs) <= 0) return;
  std::uint64_t count = 0;
  if (waiting[1].revents != 0) static_cast<void>(!read(wakeup_.get(), &count, sizeof count));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (waiting[i + 2].revents != 0) serve(ids[i], connections_.at(ids[i]), waiting[i + 2].revents);
  }
  if (waiting[0].revents != 0) accept_clients();
}

void HttpServer::accept_clients() {
  for (;;) {
    FileDescriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) return;  // nobody waits, or no descriptor is left: then one gets free in time
    make_room();
    const int on = 1;
    setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Connection& connection = connections_[next_id_++];
    connection.socket = std::move(client);
    connection.deadline = Clock::now() + limits_.head_time;
  }
}

/// A newcomer takes the place of the client that has been idle or slow for longest, so that clients which
/// only hold connections keep nobody out.
void HttpServer::make_room() {
  remove_closed();
  if (connections_.size() < limits_.connections) return;
  const auto waits = [](const auto& entry) { return entry.second.state == State::reading; };
  auto victim = std::ranges::find_if(connections_, waits);
  if (victim == connections_.end()) victim = connections_.begin();
  connections_.erase(victim);
}

void HttpServer::take_answers() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (const Answer& answer : answers) {
    const auto found = connections_.find(answer.connection);  // the client may be gone
    if (found != connections_.end()) begin_answer(found->second, &answer.request, answer.response);
  }
}

void HttpServer::serve(std::uint64_t id, Connection& connection, short events) {
  if ((events & (POLLERR | POLLNVAL)) != 0 || ((events & POLLHUP) != 0 && (events & POLLIN) == 0)) {
    connection.socket.reset();
    return;
  }
  if ((events & POLLOUT) != 0) transmit(connection);
  if (connection.socket && (events & POLLIN) != 0) receive(connection);
  if (connection.socket && connection.state == State::reading && !connection.closing)
    next_request(id, connection);
}

/// A client may send its next request with the last; no further byte announces it.
void HttpServer::serve_pipelined() {
  for (auto& [id, connection] : connections_) {
    if (!connection.in.empty() && connection.state == State::reading && connection.socket &&
        !connection.closing)
      next_request(id, connection);
  }
}

void HttpServer::receive(Connection& connection) {
  char buffer[4096];
  const ssize_t size = recv(connection.socket.get(), buffer, sizeof buffer, 0);
  if (size == 0 || (size < 0 && !would_block())) {
    connection.socket.reset();
    return;
  }
  // A stream's client has nothing more to say, and one that was refused is not heard.
  if (size < 0 || connection.state == State::stream || connection.closing) return;
  if (connection.in.empty()) connection.deadline = Clock::now() + limits_.head_time;
  connection.in.append(buffer, static_cast<std::size_t>(size));
}

/// Begins with the next request where the whole of its head is there.
void HttpServer::next_request(std::uint64_t id, Connection& connection) {
  const std::size_t end = connection.in.find("\r\n\r\n");
  const std::size_t size = end == std::string::npos ? connection.in.size() : end + 4;
  if (size > limits_.http.head_bytes) return begin_answer(connection, nullptr, service_.refusal(431));
  if (end == std::string::npos) return;
  ParsedHead head = parse_head(std::string_view(connection.in).substr(0, size), limits_.http);
  connection.in.erase(0, size);
  if (!head.request) return begin_answer(connection, nullptr, service_.refusal(head.status));
  if (std::optional<HttpResponse> response = service_.answer_at_once(*head.request)) {
    const bool full = response->stream && streams_ >= limits_.streams;
    return begin_answer(connection, &*head.request, full ? service_.refusal(503) : *response);
  }
  connection.state = State::working;
  HttpRequest copy = *head.request;
  if (!enqueue({.connection = id, .request = std::move(copy)}))
    begin_answer(connection, &*head.request, service_.refusal(503));
}

/// `request`: NULL where it could not be read; then where the next one begins is not known either.
void HttpServer::begin_answer(Connection& connection, const HttpRequest* request,
                              const HttpResponse& response) {
  connection.keep_alive = request != nullptr && request->keep_alive;
  connection.turns_stream = response.stream && request != nullptr && request->method == "GET";
  connection.out = response_head(response, connection.keep_alive);
  if (request == nullptr || request->method != "HEAD") connection.out += response.body;
  connection.sent = 0;
  connection.state = State::writing;
  connection.deadline = Clock::now() + limits_.write_time;
  transmit(connection);
}

void HttpServer::transmit(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t size = send(connection.socket.get(), connection.out.data() + connection.sent,
                              connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (size < 0 && would_block()) return;
    if (size <= 0) return connection.socket.reset();
    connection.sent += static_cast<std::size_t>(size);
  }
  connection.out.clear();
  connection.sent = 0;
  if (connection.state == State::writing) answer_is_out(connection);
}

void HttpServer::answer_is_out(Connection& connection) {
  if (connection.turns_stream) {
    connection.state = State::stream;
    count_streams();
    return;
  }
  connection.state = State::reading;
  connection.deadline = Clock::now() + (connection.in.empty() ? limits_.idle_time : limits_.head_time);
  if (connection.keep_alive) return;
  // Closing now could take the answer away from a client that is still sending.
  shutdown(connection.socket.get(), SHUT_WR);
  connection.closing = true;
  connection.deadline = Clock::now() + limits_.head_time;
}

void HttpServer::send_events() {
  std::vector<std::string> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
  }
  if (Clock::now() >= next_heartbeat_) {
    events.emplace_back(": still here\n\n");
    next_heartbeat_ = Clock::now() + limits_.heartbeat;
  }
  if (events.empty()) return;
  for (auto& [id, connection] : connections_) {
    if (connection.state != State::stream || !connection.socket) continue;
    for (const std::string& event : events) connection.out += event;
    if (connection.out.size() > limits_.stream_backlog_bytes)
      connection.socket.reset();
    else
      transmit(connection);
  }
}

void HttpServer::end_overdue() {
  const Clock::time_point now = Clock::now();
  for (auto& [id, connection] : connections_) {
    if (!connection.socket || now < connection.deadline) continue;
    const bool may_last = connection.state == State::stream || connection.state == State::working;
    if (may_last) continue;
    // Who has begun a request is told; who was idle knows.
    if (connection.state == State::reading && !connection.closing && !connection.in.empty()) {
      connection.in.clear();
      begin_answer(connection, nullptr, service_.refusal(408));
    } else {
      connection.socket.reset();
    }
  }
}

void HttpServer::remove_closed() {
  std::erase_if(connections_, [](const auto& entry) { return !entry.second.socket; });
  count_streams();
}

void HttpServer::count_streams() {
  streams_ = static_cast<std::size_t>(std::ranges::count_if(
      connections_, [](const auto& entry) { return entry.second.state == State::stream; }));
}

}  // namespace ak::tools::dashboard

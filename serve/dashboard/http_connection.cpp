// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ak::dashboard {
namespace {

// For a client to take the last bytes and close; a connection that is closed under bytes of the client that were
// not read would be reset, and its answer lost.
constexpr std::chrono::milliseconds kClosingTime{1'000};

constexpr std::string_view kHeartbeat = ": still here\n\n";

/// What has come on a socket: bytes, none yet, or its end.
struct Received {
  std::string_view bytes;
  bool over = false;
};

Received receive(int socket, std::array<char, kMaxHeadBytes>& buffer) {
  const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
  if (size > 0) return {.bytes = {buffer.data(), static_cast<std::size_t>(size)}};
  return {.bytes = {}, .over = size == 0 || (errno != EAGAIN && errno != EINTR)};
}

}  // namespace

HttpConnection::HttpConnection(FileDescriptor socket, const ServerLimits& limits, time_point now)
    : socket_(std::move(socket)), limits_(limits), due_(now + limits.read_time) {}

short HttpConnection::events() const {
  switch (state_) {
    case State::reading:
    case State::closing:
      return POLLIN;
    case State::writing:
      return POLLOUT;
    case State::streaming:  // the end of the client's bytes is that of the stream
      return static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT);
    case State::waiting:
    case State::closed:
      break;
  }
  return 0;  // that the client has gone is polled for anyway
}

HttpConnection::time_point HttpConnection::deadline() const {
  if (state_ == State::waiting) return time_point::max();
  return state_ == State::writing ? std::min(due_, end_) : due_;
}

std::optional<ReadRequest> HttpConnection::read() {
  std::array<char, kMaxHeadBytes> buffer;
  const Received received = receive(socket_.get(), buffer);
  if (received.over) close();
  if (received.bytes.empty()) return std::nullopt;
  auto read = reader_.feed(received.bytes);
  if (const auto* request = read ? std::get_if<HttpRequest>(&*read) : nullptr)
    head_only_ = request->method == "HEAD";
  return read;
}

void HttpConnection::answer(const HttpResponse& response, time_point now) {
  state_ = response.stream && !head_only_ ? State::streaming : State::writing;
  out_ = response_bytes(response, head_only_);
  due_ = now + limits_.write_time;
  end_ = now + limits_.answer_time;
  send(now);
}

void HttpConnection::push(std::string_view event, time_point now) {
  event_ = event;
  if (!out_.empty()) return;
  due_ = now + limits_.write_time;
  send(now);
}

/// Sends what the socket takes; afterwards the state is what follows.
void HttpConnection::send(time_point now) {
  for (;;) {
    if (out_.empty()) {
      out_ = std::exchange(event_, {});
      sent_ = 0;
    }
    if (out_.empty()) break;
    const ssize_t size = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0) return close();
    due_ = now + limits_.write_time;
    sent_ += static_cast<std::size_t>(size);
    if (sent_ == out_.size()) out_.clear();
  }
  if (state_ == State::streaming) {
    due_ = now + limits_.heartbeat;
    return;
  }
  std::string().swap(out_);  // a page may be long
  ::shutdown(socket_.get(), SHUT_WR);
  state_ = State::closing;
  due_ = now + kClosingTime;
}

void HttpConnection::discard() {
  std::array<char, kMaxHeadBytes> buffer;
  if (receive(socket_.get(), buffer).over) close();
}

void HttpConnection::on_ready(short events, time_point now) {
  if ((events & (POLLERR | POLLNVAL)) != 0) return close();
  if ((events & POLLOUT) != 0) send(now);
  if ((events & POLLIN) != 0)
    discard();
  else if ((events & POLLHUP) != 0)
    close();
}

bool HttpConnection::on_time(time_point now) {
  if (state_ == State::reading && !reader_.empty()) return true;
  if (state_ == State::streaming && out_.empty())
    push(kHeartbeat, now);
  else
    close();
  return false;
}

}  // namespace ak::dashboard

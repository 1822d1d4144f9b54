// SPDX-License-Identifier: Apache-2.0
#include "serve/stdio/stdio_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>

#include "core/text/json_line.h"

namespace ak::stdio {
namespace {

// A client that sends more without waiting is out of order.
constexpr std::size_t kMaxWaiting = 256;
// How soon a signal, or a client that is gone, is noticed.
constexpr int kLookInterval_ms = 100;

}  // namespace

Server::Server(int in, int out, operations::Context context, const std::atomic<bool>& interrupted)
    : in_(in), out_(out), context_(std::move(context)), interrupted_(interrupted) {}

void Server::run() {
  const auto must_end = [this] { return interrupted_ || output_error_ != 0; };
  const auto worker = std::async(std::launch::async, [this] { work(); });
  while (open_ && !must_end()) read_input();
  end(must_end());
  while (worker.wait_for(std::chrono::milliseconds(kLookInterval_ms)) != std::future_status::ready) {
    if (must_end()) end(true);
  }
  if (output_error_ != 0)
    fail(ExitCode::output, "cannot answer the client: {}", std::strerror(output_error_));
}

void Server::read_input() {
  pollfd polled{.fd = in_, .events = POLLIN, .revents = 0};
  if (::poll(&polled, 1, kLookInterval_ms) <= 0) return;
  char chunk[64 << 10];
  const ssize_t count = ::read(in_, chunk, sizeof chunk);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) open_ = false;
  // A last line without its newline counts, too.
  reader_.feed(count > 0 ? std::string_view(chunk, static_cast<std::size_t>(count)) : "\n");
  while (auto line = reader_.next()) {
    if (const auto* text = std::get_if<std::string>(&*line)) {
      take(*text);
    } else {
      send(error_message(nullptr, ExitCode::usage,
                         fmt::format("the line is longer than {} bytes", kMaxLineBytes)));
    }
  }
}

void Server::take(std::string_view line) {
  auto asked = read_request(line);
  if (auto* wanted = std::get_if<OperationRequest>(&asked)) queue(std::move(*wanted));
  if (const auto* wanted = std::get_if<StopRequest>(&asked)) stop(*wanted);
  if (const auto* bad = std::get_if<BadRequest>(&asked))
    send(error_message(bad->id, ExitCode::usage, bad->message));
}

void Server::queue(OperationRequest wanted) {
  const auto refuse = [&](std::string_view why) { send(error_message(wanted.id, ExitCode::usage, why)); };
  {
    const std::scoped_lock lock(queue_mutex_);
    const bool known = at_work_ == wanted.id ||
                       std::ranges::find(waiting_, wanted.id, &OperationRequest::id) != waiting_.end();
    if (known) return refuse("another request with this id is not answered yet");
    if (waiting_.size() >= kMaxWaiting)
      return refuse("too many requests wait; take answers before sending more");
    waiting_.push_back(std::move(wanted));
  }
  changed_.notify_one();
}

void Server::stop(const StopRequest& wanted) {
  const std::scoped_lock lock(queue_mutex_);
  if (at_work_ == wanted.id) stop_ = true;
  if (std::erase_if(waiting_, [&](const OperationRequest& each) { return each.id == wanted.id; }) > 0)
    send(error_message(wanted.id, ExitCode::interrupted, "stopped before it began"));
}

void Server::end(bool now) {
  {
    const std::scoped_lock lock(queue_mutex_);
    ended_ = true;
    if (now) {
      for (const OperationRequest& each : waiting_)
        send(error_message(each.id, ExitCode::interrupted, "stopped before it began"));
      waiting_.clear();
      stop_ = true;
    }
  }
  changed_.notify_one();
}

void Server::work() {
  while (const auto wanted = next()) {
    answer(*wanted);
    const std::scoped_lock lock(queue_mutex_);
    at_work_.reset();
    stop_ = false;
  }
}

std::optional<OperationRequest> Server::next() {
  std::unique_lock lock(queue_mutex_);
  changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  OperationRequest wanted = std::move(waiting_.front());
  waiting_.pop_front();
  at_work_ = wanted.id;
  return wanted;
}

void Server::answer(const OperationRequest& wanted) {
  const operations::Callbacks callbacks{
      .on_event = [&](std::string_view event,
                      const Json& data) { send(event_message(wanted.id, event, data)); },
      .stop = &stop_};
  try {
    send(answer_message(wanted.id, operations::call(*wanted.operation, wanted.request, context_, callbacks)));
  } catch (const Error& error) {
    send(error_message(wanted.id, error.code(), error.what()));
  } catch (const std::exception& error) {
    send(error_message(wanted.id, ExitCode::internal_error, error.what()));
  }
}

void Server::send(const Json& message) {
  const std::string line = one_line(message) + "\n";
  const std::scoped_lock lock(output_mutex_);
  for (std::string_view rest = line; !rest.empty() && output_error_ == 0;) {
    const ssize_t written = ::write(out_, rest.data(), rest.size());
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || (errno == EINTR && !interrupted_)) continue;
    if (errno != EAGAIN) {
      output_error_ = errno;
      stop_ = true;  // no one waits for it
    } else {
      pollfd room{.fd = out_, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    }
  }
}

}  // namespace ak::stdio

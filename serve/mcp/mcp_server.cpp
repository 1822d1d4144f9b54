// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/mcp_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/text/json_line.h"

namespace ak::mcp {
namespace {

using namespace std::chrono_literals;

constexpr auto kProgressInterval = 1s;
// After the client's end: for answers to what was piped in at once. A client that is gone needs none.
constexpr auto kShutdownGrace = 5s;
constexpr double kPatienceOfCall_s = 10, kPatienceOfResult_s = 30;

steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(value));
}

Json still_at_work(const ToolJob& job) {
  Json json = job_json(job);
  json["note"] = fmt::format(
      "not done yet: call job_result with job '{}' to wait for its answer, job_cancel to stop it", job.name);
  return json;
}

}  // namespace

Server::Server(int in, int out, std::vector<std::string> command, std::string version,
               std::span<const Tool> tools)
    : in_(in), out_(out), protocol_(std::move(version), tools), jobs_(std::move(command)) {}

void Server::run() {
  while (open_) {
    wait_for_input();
    jobs_.advance();
    serve_waiters();
  }
  const auto shutdown_deadline = steady_clock::now() + kShutdownGrace;
  while (anything_quick() && steady_clock::now() < shutdown_deadline) {
    wait_for_input();
    jobs_.advance();
    serve_waiters();
  }
}

void Server::wait_for_input() {
  std::vector<pollfd> polled{{.fd = open_ ? in_ : -1, .events = POLLIN, .revents = 0}};
  jobs_.descriptors(polled);
  // Deadlines and progress are kept to a tenth of a second while someone waits.
  const int timeout_ms = waiters_.empty() ? -1 : 100;
  if (::poll(polled.data(), polled.size(), timeout_ms) > 0 && polled.front().revents != 0) read_input();
}

void Server::read_input() {
  char chunk[64 << 10];
  const ssize_t count = ::read(in_, chunk, sizeof chunk);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) open_ = false;
  // A last line without its newline counts, too.
  reader_.feed(count > 0 ? std::string_view(chunk, static_cast<std::size_t>(count)) : "\n");
  while (auto line = reader_.next()) {
    if (const auto* text = std::get_if<std::string>(&*line)) {
      for (Action& action : protocol_.read(*text)) act(std::move(action));
    } else {
      send(error_message(nullptr, {RpcCode::invalid_request,
                                   fmt::format("the line is longer than {} bytes", kMaxLineBytes)}));
    }
  }
}

void Server::act(Action action) {
  if (auto* reply = std::get_if<Reply>(&action)) send(reply->message);
  if (auto* wanted = std::get_if<ToolCall>(&action)) call(std::move(*wanted));
  if (auto* cancellation = std::get_if<Cancellation>(&action)) cancel(cancellation->request_id);
}

void Server::call(ToolCall call) {
  if (call.tool->lane == Lane::server) return call_server_tool(call);
  const double patience_s = call.tool->lane == Lane::job ? call.arguments.value("wait_s", kPatienceOfCall_s)
                                                         : std::numeric_limits<double>::infinity();
  auto job = jobs_.submit(*call.tool, call.arguments);
  if (!job)
    return send(result_message(
        call.id,
        call_failure(call.mode, "too many calls are waiting; wait for answers before sending more")));
  await(std::move(call), std::move(job), patience_s, true);
}

void Server::call_server_tool(const ToolCall& call) {
  const auto answer = [&](Json content) {
    send(result_message(call.id, call_result(call.mode, {.content = std::move(content)})));
  };
  if (!call.arguments.contains("job")) return answer({{"jobs", jobs_.list()}});
  const std::string name = call.arguments["job"];
  const auto job = jobs_.find(name);
  if (!job)
    return send(result_message(
        call.id, call_failure(call.mode,
                              fmt::format("there is no job '{}'; job_status lists those there are", name))));
  if (call.tool->name == "job_result")
    return await(call, job, call.arguments.value("wait_s", kPatienceOfResult_s), false);
  if (call.tool->name == "job_cancel") jobs_.cancel(*job);
  answer(job_json(*job));
}

void Server::await(ToolCall call, std::shared_ptr<ToolJob> job, double patience_s, bool submitted_it) {
  const auto now = steady_clock::now();
  std::optional<steady_clock::time_point> deadline;
  if (std::isfinite(patience_s)) deadline = now + seconds(patience_s);
  waiters_.push_back({.call = std::move(call),
                      .job = std::move(job),
                      .deadline = deadline,
                      .next_progress = now + kProgressInterval,
                      .submitted_it = submitted_it});
}

void Server::cancel(const Json& request_id) {
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (waiter.call.id != request_id) return false;
    if (waiter.submitted_it) jobs_.cancel(*waiter.job);
    return true;
  });
}

void Server::serve_waiters() {
  const auto now = steady_clock::now();
  for (Waiter& waiter : waiters_) tend(waiter, now);
  std::erase_if(waiters_, [](const Waiter& waiter) { return waiter.finished; });
}

void Server::tend(Waiter& waiter, steady_clock::time_point now) {
  const ToolJob& job = *waiter.job;
  const ToolCall& call = waiter.call;
  if (job.over()) {
    waiter.finished = true;
    send(result_message(call.id, job.failure.empty() ? call_result(call.mode, job.answer)
                                                     : call_failure(call.mode, job.failure)));
  } else if (waiter.deadline && now >= *waiter.deadline) {
    waiter.finished = true;
    if (!job.kept) jobs_.keep(*waiter.job);
    send(result_message(call.id, call_result(call.mode, {.content = still_at_work(job)})));
  } else if (call.progress_token && now >= waiter.next_progress) {
    waiter.next_progress = now + kProgressInterval;
    const std::chrono::duration<double> elapsed = now - job.submitted;
    send(progress_message(*call.progress_token, elapsed.count(),
                          fmt::format("{}: {:.0f} s", job.tool->name, elapsed.count())));
  }
}

bool Server::anything_quick() const {
  return std::ranges::any_of(waiters_,
                             [](const Waiter& waiter) { return waiter.job->tool->lane != Lane::job; });
}

void Server::send(const Json& message) {
  const std::string line = one_line(message) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(out_, rest.data(), rest.size());
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) fail(ExitCode::output, "cannot answer the client: {}", std::strerror(errno));
    pollfd room{.fd = out_, .events = POLLOUT, .revents = 0};
    ::poll(&room, 1, -1);
  }
}

}  // namespace ak::mcp

// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string_view>

#include "core/text/hash.h"
#include "core/text/suggest.h"
#include "runtime/process/child_process.h"

namespace ak::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// SIGKILL acts at once unless the kernel holds the process in a driver call; then it is left to init.
constexpr std::chrono::milliseconds kReapLimit{10'000};
// On the stack of each of many threads.
constexpr std::size_t kChunkBytes = std::size_t{1} << 14;
// An answer of a device worker has some thousand values, five levels deep; parsed, a value takes 16 bytes and more.
constexpr std::size_t kMaxValues = std::size_t{4} << 20;
constexpr int kMaxNesting = 64;
constexpr std::size_t kMaxShown = 200;  // of a text that the worker chose

/// What a line takes in memory.
std::size_t footprint(const std::string& line) { return sizeof(std::string) + line.size(); }

/// Where the text ends that begins at `from`, behind its quote.
std::size_t end_of_text(std::string_view line, std::size_t from) {
  for (std::size_t end = line.find('"', from); end != std::string_view::npos; end = line.find('"', end + 1)) {
    std::size_t escapes = 0;
    while (end - escapes > from && line[end - escapes - 1] == '\\') ++escapes;
    if (escapes % 2 == 0) return end;
  }
  return line.size();
}

/// What handling of the line would take memory or stack without bound; nothing where it is moderate.
std::optional<std::string> excess(std::string_view line) {
  std::size_t values = 0;
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') i = end_of_text(line, i + 1);
    const bool opens = c == '[' || c == '{';
    values += opens || c == ',';
    depth += opens ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (values > kMaxValues) return fmt::format("more than {} values", kMaxValues);
    if (depth > kMaxNesting) return fmt::format("more than {} levels", kMaxNesting);
  }
  return std::nullopt;
}

Result<WorkerMessage> decode_answer(std::string_view line, std::string_view nonce) {
  if (auto too_much = excess(line)) return InputError{"a message of " + *too_much};
  return decode(line, nonce);
}

/// The facts in a worker's first message; nothing when there is none yet.
std::optional<Result<Json>> hello_in(const WorkerReply& reply) {
  if (const auto* lost = std::get_if<WorkerLost>(&reply)) return InputError{"the worker " + lost->reason};
  const auto* message = std::get_if<WorkerMessage>(&reply);
  if (message == nullptr) return std::nullopt;
  if (message->type != "hello" || message->id != 0)
    return InputError{"the worker answered hello with " + sanitize(message->type, kMaxShown)};
  return Result<Json>(message->body);
}

std::string make_nonce() { return fmt::format("{:02x}", fmt::join(random_uid(), "")); }

WorkerLost describe(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {fmt::format("ended by signal {} ({})", signal, ::strsignal(signal)), -1, signal};
  }
  const int code = WEXITSTATUS(status);
  if (code == kExitConnectionLost) return {"lost its connection", code, 0};
  if (code == kExitSilentParent)
    return {fmt::format("gave up: it heard nothing from its parent for {} s, as where a machine stands still",
                        kSilenceLimit.count() / 1000),
            code, 0};
  if (code == kExitNotStarted) return {"could not be started (exit code 127)", code, 0};
  return {fmt::format("ended with exit code {}", code), code, 0};
}

}  // namespace

WorkerProcess::WorkerProcess(std::vector<std::string> argv, std::chrono::milliseconds heartbeat,
                             const ChildErrors* errors)
    : argv_(std::move(argv)), heartbeat_(heartbeat), errors_(errors), nonce_(make_nonce()) {
  AK_ASSERT(!argv_.empty(), "a worker needs a command");
  ready_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready_ || !wake_) fail(ExitCode::environment, "making an event descriptor: {}", std::strerror(errno));
  WorkerMessage hello{0, "hello", Json::object(), {}};
  hello.body["protocol"] = kProtocolFormat.current();
  hello.body["heartbeat_ms"] = heartbeat_.count();
  outbox_.push_back(encode(hello, nonce_));
  ::eventfd_write(wake_.get(), 1);
  thread_ = std::thread([this] { run(); });
}

WorkerProcess::~WorkerProcess() { kill(); }

void WorkerProcess::send(const WorkerMessage& message) {
  std::string line = encode(message, nonce_);
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  outbox_.push_back(std::move(line));
  ::eventfd_write(wake_.get(), 1);
}

WorkerReply WorkerProcess::receive(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  // Most calls ask whether there is something, for each of many workers: no system call for these.
  if (inbox_.empty() && !lost_ && Clock::now() < deadline)
    changed_.wait_until(lock, deadline, [this] { return lost_ || !inbox_.empty(); });
  if (inbox_.empty()) return lost_ ? WorkerReply(*lost_) : WorkerReply(WorkerTimeout{});
  const std::string line = std::move(inbox_.front());
  inbox_.pop_front();
  const bool was_full = inbox_bytes_ > kMaxMessageBytes;
  inbox_bytes_ -= footprint(line);
  if (was_full) ::eventfd_write(wake_.get(), 1);
  eventfd_t ignored = 0;
  if (inbox_.empty() && !lost_) ::eventfd_read(ready_.get(), &ignored);
  lock.unlock();
  auto message = decode_answer(line, nonce_);
  if (message) return std::move(message).value();
  end({fmt::format("broke the protocol: {}", message.error().message), -1, 0, true});
  kill();
  return *lost_;
}

Result<Json> WorkerProcess::await_hello(Clock::time_point deadline) {
  auto hello = hello_in(receive(deadline));
  return hello ? std::move(*hello) : InputError{"the worker did not answer in time"};
}

std::optional<Result<Json>> WorkerProcess::poll_hello() { return hello_in(receive(Clock::now())); }

void WorkerProcess::finish(std::chrono::milliseconds patience) {
  grace_ = patience;
  send({0, "shutdown", Json::object(), {}});
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return lost_.has_value(); });
  }
  kill();
}

void WorkerProcess::kill() {
  killed_ = true;
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

std::size_t WorkerProcess::resident_bytes() const {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid_.load()));
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::chrono::nanoseconds WorkerProcess::cpu_time() const {
  const pid_t pid = pid_.load();
  clockid_t clock = 0;
  timespec used{};
  if (pid == 0 || ::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void WorkerProcess::run() {
  try {
    start();
    while (exchange()) {
    }
  } catch (const std::exception& error) {
    end({error.what(), -1, 0});
  }
  reap();
}

// On the thread that lives as long as the child, which the system kills with it.
void WorkerProcess::start() {
  StartedChild child = start_child(argv_, errors_);
  socket_ = std::move(child.socket);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  pid_ = child.pid;
  next_heartbeat_ = Clock::now() + heartbeat_;
}

bool WorkerProcess::exchange() {
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_heartbeat_ - Clock::now()).count();
  const short events =
      static_cast<short>((has_room() ? POLLIN : 0) | (sent_ < sending_.size() ? POLLOUT : 0));
  std::array<pollfd, 2> fds{pollfd{socket_.get(), events, 0}, pollfd{wake_.get(), POLLIN, 0}};
  ::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(wait, 0)));
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  if (killed_) return false;
  if (Clock::now() >= next_heartbeat_) queue_heartbeat();
  const bool readable = fds[0].revents != 0;
  return flush_outbox() && (!readable || read_some());
}

bool WorkerProcess::has_room() {
  const std::lock_guard lock(mutex_);
  return inbox_bytes_ <= kMaxMessageBytes;
}

void WorkerProcess::queue_heartbeat() {
  next_heartbeat_ = Clock::now() + heartbeat_;
  const std::lock_guard lock(mutex_);
  // Bytes in flight are a sign of life too.
  if (outbox_.empty() && sent_ == sending_.size())
    outbox_.push_back(encode({0, "heartbeat", Json::object(), {}}, nonce_));
}

bool WorkerProcess::flush_outbox() {
  for (;;) {
    if (sent_ == sending_.size()) {
      const std::lock_guard lock(mutex_);
      std::string().swap(sending_);  // with its memory: a task is sent now and then, to many workers
      sent_ = 0;
      if (outbox_.empty()) return true;
      sending_ = std::move(outbox_.front());
      outbox_.pop_front();
    }
    const ssize_t count =
        ::send(socket_.get(), sending_.data() + sent_, sending_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0)
      return errno == EAGAIN || errno == EINTR || read_some();  // answers may precede a broken pipe
    sent_ += static_cast<std::size_t>(count);
  }
}

bool WorkerProcess::read_some() {
  std::array<char, kChunkBytes> chunk;
  const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  if (!lines_.feed({chunk.data(), static_cast<std::size_t>(count)})) {
    end({fmt::format("broke the protocol: a message above {} MiB", kMaxMessageBytes >> 20), -1, 0, true});
    return false;
  }
  const std::lock_guard lock(mutex_);
  while (auto line = lines_.next()) {
    inbox_bytes_ += footprint(*line);
    inbox_.push_back(std::move(*line));
  }
  if (inbox_.empty()) return true;
  ::eventfd_write(ready_.get(), 1);
  changed_.notify_all();
  return true;
}

void WorkerProcess::reap() {
  const pid_t pid = pid_;
  if (pid == 0) return;
  int status = 0;
  if (!killed_) static_cast<void>(child_has_ended(pid, grace_));
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
  if (!child_has_ended(pid, kReapLimit)) {
    end({"does not end: the kernel holds it", -1, 0});
  } else {
    ::waitpid(pid, &status, 0);
    end(killed_ ? WorkerLost{"was killed by its parent", -1, SIGKILL} : describe(status));
  }
  pid_ = 0;
  socket_.reset();
}

void WorkerProcess::end(WorkerLost lost) {
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  lost_ = std::move(lost);
  ::eventfd_write(ready_.get(), 1);
  changed_.notify_all();
}

}  // namespace ak::runtime

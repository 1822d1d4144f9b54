// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "core/text/hash.h"
#include "core/text/locations.h"
#include "core/text/suggest.h"

extern char** environ;

namespace ak::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kExitNotStarted = 127;  // as shells say it
// SIGKILL acts at once unless the kernel holds the process in a driver call; then it is left to init.
constexpr std::chrono::milliseconds kReapLimit{10'000};
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
// An answer of a device worker has some thousand values, five levels deep; parsed, a value takes 16 bytes and more.
constexpr std::size_t kMaxValues = std::size_t{4} << 20;
constexpr int kMaxNesting = 64;
constexpr std::size_t kMaxShown = 200;  // of a text that the worker chose

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

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

std::string make_nonce() { return fmt::format("{:02x}", fmt::join(random_uid(), "")); }

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(int socket, pid_t parent, char* const* argv, char* const* environment) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitNotStarted);
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execvpe(argv[0], argv, environment);
  ::_exit(kExitNotStarted);
}

// Waits until the child can be reaped, without reaping: its process group stays ours to kill until then.
bool has_ended(pid_t pid, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return errno == ECHILD;
    if (info.si_pid == pid) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

WorkerLost describe(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {fmt::format("ended by signal {} ({})", signal, ::strsignal(signal)), -1, signal};
  }
  const int code = WEXITSTATUS(status);
  if (code == kExitNotStarted) return {"could not be started (exit code 127)", code, 0};
  return {fmt::format("ended with exit code {}", code), code, 0};
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view one) {
    return one.ends_with('*') ? name.starts_with(one.substr(0, one.size() - 1)) : name == one;
  });
}

// docs/sandbox.md lists them.
constexpr std::string_view kForWorkers[] = {"PATH",
                                            "TMPDIR",
                                            "LANG",
                                            "LC_*",
                                            "TZ",
                                            "LD_LIBRARY_PATH",
                                            "ALPHAKERNEL_LOCKS",
                                            "CUDA_HOME",
                                            "CUDA_PATH",
                                            "CUDA_VISIBLE_DEVICES",
                                            "CUDA_DEVICE_ORDER",
                                            "CUDA_MODULE_LOADING",
                                            "CUDA_MPS_PIPE_DIRECTORY",
                                            "CUDA_MPS_LOG_DIRECTORY",
                                            "NVIDIA_VISIBLE_DEVICES",
                                            "NVIDIA_DRIVER_CAPABILITIES",
                                            "ASAN_OPTIONS",
                                            "LSAN_OPTIONS",
                                            "TSAN_OPTIONS",
                                            "UBSAN_OPTIONS"};
// What srun and ssh know their user and job by.
constexpr std::string_view kForLaunchers[] = {"HOME",          "USER",       "LOGNAME", "SHELL",
                                              "SSH_AUTH_SOCK", "KRB5CCNAME", "SLURM_*"};
// Slurm's own token is SLURM_JWT.
constexpr std::string_view kSecretWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "JWT"};

bool may_hold_secret(std::string_view name) {
  return std::ranges::any_of(
      kSecretWords, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// Ourselves as a worker, or another program that starts one.
bool is_launcher(const std::string& program) {
  std::error_code error;
  return !std::filesystem::equivalent(program, program_file(), error);
}

}  // namespace

std::vector<std::string> child_environment(bool launcher) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable), name = text.substr(0, text.find('='));
    const bool allowed = is_one_of(kForWorkers, name) || (launcher && is_one_of(kForLaunchers, name));
    if (allowed && !may_hold_secret(name)) result.emplace_back(text);
  }
  // The driver's cache of compiled PTX is a folder in the user's home that one candidate could
  // fill for another.
  result.emplace_back("CUDA_CACHE_DISABLE=1");
  return result;
}

WorkerProcess::WorkerProcess(std::vector<std::string> argv, std::chrono::milliseconds heartbeat)
    : argv_(std::move(argv)), heartbeat_(heartbeat), nonce_(make_nonce()) {
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
  auto reply = receive(deadline);
  if (const auto* lost = std::get_if<WorkerLost>(&reply)) return InputError{"the worker " + lost->reason};
  const auto* message = std::get_if<WorkerMessage>(&reply);
  if (message == nullptr) return InputError{"the worker did not answer in time"};
  if (message->type != "hello" || message->id != 0)
    return InputError{"the worker answered hello with " + sanitize(message->type, kMaxShown)};
  return message->body;
}

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

// Forks on the thread that lives as long as the child: PDEATHSIG follows the thread, not the process.
void WorkerProcess::start() {
  std::array<int, 2> ends{};
  // A socket rather than pipes: MSG_NOSIGNAL spares the whole process a SIGPIPE disposition.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(ExitCode::environment, "opening a socket pair for {}: {}", argv_[0], std::strerror(errno));
  socket_.reset(ends[0]);
  const FileDescriptor childs_end(ends[1]);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  auto arguments = argv_;
  auto environment = child_environment(is_launcher(argv_[0]));
  const auto argv = pointers(arguments), envp = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) fail(ExitCode::environment, "starting {}: {}", argv_[0], std::strerror(errno));
  if (child == 0) become(childs_end.get(), parent, argv.data(), envp.data());
  ::setpgid(child, child);  // whichever of the two calls comes first
  pid_ = child;
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
      sending_.clear();
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
  std::string chunk(kChunkBytes, '\0');
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
  if (!killed_) has_ended(pid, grace_);
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
  if (!has_ended(pid, kReapLimit)) {
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

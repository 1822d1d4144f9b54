// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/worker_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/text/json.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "runtime/fleet/byte_relay.h"
#include "runtime/fleet/tcp_socket.h"
#include "runtime/process/child_process.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// Both ends answer at once; a stranger who says nothing keeps others waiting no longer (chosen).
constexpr std::chrono::seconds kGreetingLimit{5};
// Between two attempts of a worker: a controller that replaces a lost worker listens again in milliseconds.
constexpr std::chrono::milliseconds kAttemptInterval{200};
// After connections that were ended soon, doubled up to here: half of what a comparison waits for the first device.
constexpr std::chrono::milliseconds kLongestPause{5'000};
// Longer than the start of CUDA takes, after which a GPU is refused (chosen).
constexpr std::chrono::seconds kSoon{10};
// A worker that closed its end is about to exit, as in WorkerProcess.
constexpr std::chrono::milliseconds kExitGrace{500};
// As shells say it of a program that a signal ended.
constexpr int kSignalBase = 128;
constexpr int kMostExitCode = 255, kMostSignal = 64;
// SIGKILL acts at once, unless the system holds the process in a driver's call.
constexpr std::chrono::seconds kReapLimit{10};
constexpr std::size_t kShownBytes = 200;
// What a controller may ask for.
constexpr std::array<std::string_view, 1> kRoles{"device"};

/// The next connection; nothing when the parent has closed its end.
std::optional<FileDescriptor> next_connection(const FileDescriptor& listening) {
  for (;;) {
    std::array<pollfd, 2> ready{{{.fd = listening.get(), .events = POLLIN, .revents = 0},
                                 {.fd = STDIN_FILENO, .events = 0, .revents = 0}}};
    ::poll(ready.data(), ready.size(), -1);
    if (ready[1].revents != 0) return std::nullopt;
    FileDescriptor socket = accept_at(listening);
    if (socket) return socket;
  }
}

/// The worker says which protocol it speaks, and hears which role it has.
void greet_worker(SecureStream& stream, const std::string& role, steady_clock::time_point deadline) {
  const Json said = try_parse_json(stream.receive(deadline));
  const Json protocol = said.is_object() ? said.value("protocol", Json()) : Json();
  Json answer = Json::object();
  if (protocol == kProtocolFormat.current())
    answer["role"] = role;
  else
    answer["refused"] =
        fmt::format("this controller speaks version {} of the worker protocol, and the worker {}",
                    kProtocolFormat.current(), protocol.dump());
  stream.send_all(answer.dump(), deadline);
  if (answer.contains("refused")) fail(ExitCode::environment, "{}", answer["refused"].get<std::string>());
}

std::string greet_controller(SecureStream& stream, steady_clock::time_point deadline) {
  stream.send_all(Json{{"protocol", kProtocolFormat.current()}}.dump(), deadline);
  const Json answer = try_parse_json(stream.receive(deadline));
  const auto text = [&](const char* key) {
    const Json value = answer.is_object() ? answer.value(key, Json()) : Json();
    return value.is_string() ? sanitize(value.get<std::string>(), kShownBytes) : std::string();
  };
  if (const std::string refused = text("refused"); !refused.empty())
    fail(ExitCode::environment, "{}", refused);
  const std::string role = text("role");
  if (std::ranges::find(kRoles, role) == kRoles.end())
    fail(ExitCode::environment, "the controller asks for the role '{}', which this worker does not have",
         role);
  return role;
}

/// A worker process, killed at the latest with this object.
class ServedWorker {
 public:
  explicit ServedWorker(std::vector<std::string> command) : child_(start_child(std::move(command))) {}
  ~ServedWorker() { reap(); }
  ServedWorker(const ServedWorker&) = delete;
  ServedWorker& operator=(const ServedWorker&) = delete;

  [[nodiscard]] int socket() const { return child_.socket.get(); }
  /// How the process ended that has closed its end of the socket, for the controller; nothing where it still runs.
  std::optional<Json> end() {
    if (!child_has_ended(child_.pid, kExitGrace)) return std::nullopt;
    const int status = reap();
    return WIFSIGNALED(status) ? Json{{"signal", WTERMSIG(status)}}
                               : Json{{"exit_code", WEXITSTATUS(status)}};
  }

 private:
  int reap() {
    int status = 0;
    const pid_t pid = std::exchange(child_.pid, 0);
    if (pid == 0) return status;
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);
    if (child_has_ended(pid, kReapLimit)) ::waitpid(pid, &status, 0);
    return status;
  }

  StartedChild child_;
};

/// Runs a worker process for as long as the connection lasts, and says how it ended where it is the first to end.
void serve(SecureStream& stream, std::vector<std::string> command) {
  ServedWorker worker(std::move(command));
  if (relay(stream, worker.socket(), worker.socket()) != RelayEnd::local) return;
  if (const auto end = worker.end()) stream.send_last(end->dump(), steady_clock::now() + kGreetingLimit);
}

/// Notes who is turned away. Such a one comes again, several times a second: so the first time of each address is noted,
/// and then powers of ten.
class TurnedAway {
 public:
  explicit TurnedAway(std::string at) : at_(std::move(at)) {}

  void note(std::string peer, const char* why) {
    if (peer.empty() || times_.size() >= kMostPeers) peer = "elsewhere";
    const int times = ++times_[{peer, why}];
    if (times == 1)
      print_stderr("note: a connection from {} to {} was turned away: {}\n", peer, at_, why);
    else if (is_power_of_ten(times))
      print_stderr("note: {} connections from {} to {} were turned away: {}\n", times, peer, at_, why);
  }

 private:
  static constexpr std::size_t kMostPeers = 100;  // whoever has more addresses is one (chosen)
  static bool is_power_of_ten(int number) {
    while (number % 10 == 0) number /= 10;
    return number == 1;
  }

  std::string at_;
  std::map<std::pair<std::string, std::string>, int> times_;  ///< by address and reason
};

/// With which code the process ends that stands for a worker whose connection has ended. What the worker's end says of a
/// lost connection is not believed: no candidate may have it for an excuse.
int exit_code_after(const std::optional<std::string>& last) {
  const Json said = last ? try_parse_json(*last) : Json();
  const auto number = [&](const char* key, int most) -> std::optional<int> {
    const Json value = said.is_object() ? said.value(key, Json()) : Json();
    if (!value.is_number_unsigned() || value > most) return std::nullopt;
    return value.get<int>();
  };
  if (const auto signal = number("signal", kMostSignal)) return kSignalBase + *signal;
  const int code = number("exit_code", kMostExitCode).value_or(kExitConnectionLost);
  return last && code == kExitConnectionLost ? static_cast<int>(ExitCode::internal_error) : code;
}

}  // namespace

int await_worker(const FleetAddress& address, const std::filesystem::path& token_file,
                 const std::string& role) {
  std::signal(SIGPIPE, SIG_IGN);
  const FleetToken token(token_file);
  FileDescriptor listening = listen_on(address, true);
  TurnedAway turned_away(to_string(address));
  while (auto socket = next_connection(listening)) {
    const std::string peer = peer_of(*socket);
    try {
      const auto deadline = steady_clock::now() + kGreetingLimit;
      SecureStream stream(std::move(*socket), token, SecureStream::End::controller, deadline);
      greet_worker(stream, role, deadline);
      listening.reset();  // the next one is for another
      const RelayEnd end = relay(stream, STDIN_FILENO, STDOUT_FILENO);
      return end == RelayEnd::local ? 0 : exit_code_after(stream.last());
    } catch (const Error& error) {
      turned_away.note(peer, error.what());
      if (!listening) return kExitConnectionLost;
    }
  }
  return 0;
}

std::chrono::milliseconds next_pause(std::chrono::milliseconds pause, steady_clock::duration served) {
  return served < kSoon ? std::min(2 * pause, kLongestPause) : kAttemptInterval;
}

void serve_controller(const FleetAddress& address, const std::filesystem::path& token_file,
                      const std::vector<std::string>& worker_command) {
  std::signal(SIGPIPE, SIG_IGN);
  const FleetToken token(token_file);
  std::string reason;
  auto pause = kAttemptInterval;
  for (auto seen = steady_clock::now(); steady_clock::now() - seen < kControllerAbsence;) {
    std::optional<steady_clock::time_point> begun;
    try {
      FileDescriptor socket = connect_to(address);
      const auto deadline = steady_clock::now() + kGreetingLimit;
      SecureStream stream(std::move(socket), token, SecureStream::End::worker, deadline);
      std::vector<std::string> command = worker_command;
      command.insert(command.end(), {"--role", greet_controller(stream, deadline)});
      begun = steady_clock::now();
      serve(stream, std::move(command));
      reason = "the controller has ended";
    } catch (const Error& error) {
      reason = error.what();
    }
    if (begun) {
      seen = steady_clock::now();
      pause = next_pause(pause, seen - *begun);
    }
    std::this_thread::sleep_for(pause);
  }
  fail(ExitCode::environment, "no controller at {} for {} s: {}", to_string(address),
       kControllerAbsence.count(), reason);
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/worker_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/text/json.h"
#include "core/text/suggest.h"
#include "runtime/fleet/byte_relay.h"
#include "runtime/process/child_process.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// Both ends answer at once; a stranger who says nothing keeps others waiting no longer (chosen).
constexpr std::chrono::seconds kGreetingLimit{5};
// Between two attempts of a worker: a controller that replaces a lost worker listens again in milliseconds.
constexpr std::chrono::milliseconds kAttemptInterval{200};
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
    FileDescriptor socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
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

/// Runs a worker process for as long as the connection lasts.
void serve(SecureStream& stream, std::vector<std::string> command) {
  const StartedChild child = start_child(std::move(command));
  const auto end = [&] {
    ::kill(-child.pid, SIGKILL);
    ::kill(child.pid, SIGKILL);
    if (child_has_ended(child.pid, kReapLimit)) ::waitpid(child.pid, nullptr, 0);
  };
  try {
    static_cast<void>(relay(stream, child.socket.get(), child.socket.get()));
  } catch (...) {
    end();
    throw;
  }
  end();
}

}  // namespace

int await_worker(const FleetAddress& address, const std::filesystem::path& token_file,
                 const std::string& role) {
  std::signal(SIGPIPE, SIG_IGN);
  const FleetToken token(token_file);
  FileDescriptor listening = listen_on(address, true);
  std::string said;  // who is turned away comes again
  while (auto socket = next_connection(listening)) {
    try {
      const auto deadline = steady_clock::now() + kGreetingLimit;
      SecureStream stream(std::move(*socket), token, SecureStream::End::controller, deadline);
      greet_worker(stream, role, deadline);
      listening.reset();  // the next one is for another
      return relay(stream, STDIN_FILENO, STDOUT_FILENO) == RelayEnd::local ? 0 : kExitConnectionLost;
    } catch (const Error& error) {
      if (std::exchange(said, error.what()) != error.what())
        std::fprintf(stderr, "note: a connection to %s was turned away: %s\n", to_string(address).c_str(),
                     error.what());
      if (!listening) return kExitConnectionLost;
    }
  }
  return 0;
}

void serve_controller(const FleetAddress& address, const std::filesystem::path& token_file,
                      const std::vector<std::string>& worker_command) {
  std::signal(SIGPIPE, SIG_IGN);
  const FleetToken token(token_file);
  std::string reason;
  for (auto seen = steady_clock::now(); steady_clock::now() - seen < kControllerAbsence;) {
    try {
      FileDescriptor socket = connect_to(address);
      const auto deadline = steady_clock::now() + kGreetingLimit;
      SecureStream stream(std::move(socket), token, SecureStream::End::worker, deadline);
      std::vector<std::string> command = worker_command;
      command.insert(command.end(), {"--role", greet_controller(stream, deadline)});
      serve(stream, std::move(command));
      seen = steady_clock::now();
      reason = "the controller has ended";
    } catch (const Error& error) {
      reason = error.what();
    }
    std::this_thread::sleep_for(kAttemptInterval);
  }
  fail(ExitCode::environment, "no controller at {} for {} s: {}", to_string(address),
       kControllerAbsence.count(), reason);
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
// Workers that connect over TCP, seen through an evaluator.
#include "runtime/fleet/worker_link.h"

#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text/file.h"
#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/fleet/secure_stream.h"
#include "runtime/fleet/tcp_socket.h"
#include "runtime/process/child_process.h"
#include "runtime/process/worker_protocol.h"
#include "tests/runtime/evaluator/job_samples.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

/// A process that is killed at the latest with this object.
class Process {
 public:
  explicit Process(std::vector<std::string> argv) : child_(start_child(std::move(argv))) {}
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void kill() {
    if (child_.pid == 0) return;
    ::kill(child_.pid, SIGKILL);
    ::waitpid(child_.pid, nullptr, 0);
    child_.pid = 0;
  }
  /// Waits for its end.
  int exit_code() {
    REQUIRE(child_has_ended(child_.pid, testing::kPatience));
    int status = 0;
    ::waitpid(std::exchange(child_.pid, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  StartedChild child_;
};

/// A pool whose devices are CPU devices that connect.
struct Fleet {
  Fleet() {
    write_file_atomically(folder / "token", "0123456789abcdef0123456789abcdef");
    fs::permissions(folder / "token", fs::perms::owner_read | fs::perms::owner_write);
    const FleetAddress any{.host = "127.0.0.1", .port = "0"};
    address = {.host = any.host, .port = std::to_string(port_of(listen_on(any, false)))};
  }
  [[nodiscard]] std::vector<std::string> command(const std::string& end) const {
    std::vector<std::string> words = ak::test::self_as_worker();
    words.insert(words.end(), {end, to_string(address), "--token-file", (folder / "token").string()});
    return words;
  }
  [[nodiscard]] std::unique_ptr<Process> worker() const {
    return std::make_unique<Process>(command("--connect"));
  }
  /// The command of a controller that waits for one worker.
  [[nodiscard]] std::vector<std::string> listening() const {
    std::vector<std::string> words = command("--listen");
    words.insert(words.end(), {"--role", "device"});
    return words;
  }
  [[nodiscard]] std::unique_ptr<Evaluator> evaluator(std::size_t devices) const {
    EvaluatorOptions options;
    options.device = DeviceKind::emulator;
    options.target = test::kTarget;
    options.pool.assign(devices, {.name = "a worker that connects", .worker_command = command("--listen")});
    options.compile_workers = 1;
    options.cache_dir = testing::shared_build_cache();
    options.worker_command = ak::test::self_as_worker();
    options.compile_deadline = testing::kPatience;
    options.time_baseline = false;
    return make_local_evaluator(std::move(options), ak::test::plain_assembler());
  }

  testing::TemporaryFolder folder;
  FleetAddress address;
};

void submit(Evaluator& evaluator, int count, std::set<Ticket>& submitted) {
  static const auto problem = ak::test::make_problem({});
  for (int steps = 1; steps <= count; ++steps) {
    EvaluationRequest request = test::add_request({});
    request.problem = problem;
    request.candidate = ak::test::make_candidate(
        "k.cu", ak::test::elementwise_plan("add"),
        "extern \"C\" __global__ void add(const float* a, const float* b, float* c, long long n) {\n"
        "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
        "  for (int step = 0; step < " +
            std::to_string(steps) + "; ++step) __syncthreads();\n  if (i < n) c[i] = a[i] + b[i];\n}\n");
    submitted.insert(evaluator.submit(std::move(request)));
  }
}

/// The next one ends well, and for the first time.
void take_one(Evaluator& evaluator, std::set<Ticket>& submitted) {
  const auto completed = evaluator.wait_any(testing::out_of_patience());
  REQUIRE(completed);
  INFO(completed->result.outcome.message);
  CHECK(completed->result.outcome.status == Status::ok);
  CHECK(submitted.erase(completed->ticket) == 1);
}

TEST_CASE("workers that connect are the devices of a pool, whenever they come") {
  const Fleet fleet;
  const auto early = fleet.worker();
  const auto evaluator = fleet.evaluator(2);
  std::set<Ticket> submitted;
  submit(*evaluator, 3, submitted);
  take_one(*evaluator, submitted);
  const auto late = fleet.worker();
  while (!submitted.empty()) take_one(*evaluator, submitted);
}

TEST_CASE("a worker that is killed again and again, with another in its place, loses and doubles nothing") {
  const Fleet fleet;
  const auto lives = fleet.worker();
  auto dies = fleet.worker();
  const auto evaluator = fleet.evaluator(2);
  std::set<Ticket> submitted;
  // With one compile worker as many are useful as there are devices, and one.
  REQUIRE(testing::in_the_end([&] {
    CHECK_FALSE(evaluator->wait_any(std::chrono::steady_clock::now()));
    return evaluator->capabilities().useful_in_flight == 3;
  }));
  submit(*evaluator, 6, submitted);
  for (int i = 0; i < 3; ++i) {
    take_one(*evaluator, submitted);
    dies->kill();
    dies = fleet.worker();
  }
  while (!submitted.empty()) take_one(*evaluator, submitted);
  CHECK_FALSE(evaluator->wait_any(std::chrono::steady_clock::now()));
}

TEST_CASE("one of two that claim an address gets it, and those that share listen there meanwhile") {
  const Fleet fleet;
  const auto is_taken = [&] {
    try {
      static_cast<void>(claim_address(fleet.address));
      return false;
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::environment);
      CHECK_THAT(error.what(),
                 Catch::Contains(to_string(fleet.address)) && Catch::Contains("the port is taken"));
      return true;
    }
  };
  FileDescriptor claim = claim_address(fleet.address);
  CHECK(is_taken());
  CHECK_THROWS_WITH(connect_to(fleet.address), Catch::Contains("refused"));  // it takes no worker itself
  FileDescriptor one = listen_on(fleet.address, true), other = listen_on(fleet.address, true);
  CHECK(is_taken());
  const FileDescriptor worker = connect_to(fleet.address);
  FileDescriptor accepted;
  CHECK(testing::in_the_end([&] {
    for (const FileDescriptor* listening : {&one, &other})
      if (!accepted) accepted = accept_at(*listening);
    return bool(accepted);
  }));
  claim.reset();
  CHECK(is_taken());
  one.reset();
  other.reset();
  CHECK_FALSE(is_taken());  // though a connection of before is open
}

TEST_CASE("a worker outlives its controller, and serves the next one") {
  const Fleet fleet;
  const auto worker = fleet.worker();
  for (int i = 0; i < 2; ++i) {
    DeviceClient controller(fleet.listening());
    controller.join(false);
    CHECK(testing::in_the_end(
        [&] { return controller.poll_joined(std::chrono::steady_clock::now()).has_value(); }));
  }
}

TEST_CASE("a worker that is turned away again and again leaves the place to others") {
  using namespace std::chrono_literals;
  auto pause = 200ms;
  for (int i = 0; i < 100; ++i) {
    const auto next = next_pause(pause, 1s);
    CHECK(next >= pause);
    pause = next;
  }
  CHECK(pause == 5s);
  CHECK(next_pause(pause, 1min) == 200ms);
}

/// The worker's end of a connection to a controller, which needs a moment to listen.
std::unique_ptr<SecureStream> connected(const Fleet& fleet) {
  const FleetToken token(fleet.folder / "token");
  std::unique_ptr<SecureStream> stream;
  REQUIRE(testing::in_the_end([&] {
    try {
      stream = std::make_unique<SecureStream>(connect_to(fleet.address), token, SecureStream::End::worker,
                                              testing::out_of_patience());
    } catch (const Error&) {
    }
    return stream != nullptr;
  }));
  return stream;
}

TEST_CASE("a worker of another protocol gets a refusal that says so, and the place goes to the next one") {
  const Fleet fleet;
  const Process controller(fleet.listening());
  const auto deadline = testing::out_of_patience();
  const auto old = connected(fleet);
  old->send_all(R"({"protocol": 99})", deadline);
  CHECK_THAT(old->receive(deadline), Catch::Contains("version 1 of the worker protocol, and the worker 99"));
  const auto next = connected(fleet);
  next->send_all(R"({"protocol": 1})", deadline);
  CHECK(next->receive(deadline) == R"({"role":"device"})");
}

TEST_CASE("who comes again and again without the token is noted by its address, and then counted") {
  const Fleet fleet;
  const fs::path wrong = fleet.folder / "wrong";
  write_file_atomically(wrong, "fedcba9876543210fedcba9876543210");
  fs::permissions(wrong, fs::perms::owner_read | fs::perms::owner_write);
  const FleetToken token(wrong);
  const ChildErrors errors;
  const StartedChild child = start_child(fleet.listening(), &errors);
  int times = 0;
  CHECK(testing::in_the_end([&] {
    try {
      SecureStream stream(connect_to(fleet.address), token, SecureStream::End::worker,
                          testing::out_of_patience());
      ++times;
      stream.send_all(R"({"protocol": 1})", testing::out_of_patience());
      static_cast<void>(stream.receive(testing::out_of_patience()));
    } catch (const Error&) {
    }
    return errors.text().find("10 connections from 127.0.0.1") != std::string::npos;
  }));
  ::kill(child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  CHECK(times >= 10);
  const std::string said = errors.text(), once = "a connection from 127.0.0.1 to " + to_string(fleet.address);
  CHECK_THAT(said, Catch::Contains(once + " was turned away: "));
  CHECK(std::ranges::count(said, '\n') <= 4);  // of each reason the first time, and the tenth
}

TEST_CASE("what stands for a worker ends as that has ended, and else as having lost its connection") {
  const struct {
    const char* last;
    int exit_code;
  } cases[] = {
      {R"({"exit_code": 11})", kExitOutOfMemory},
      {R"({"exit_code": 0})", 0},
      {R"({"signal": 9})", 128 + SIGKILL},
      {R"({"exit_code": 12})", static_cast<int>(ExitCode::internal_error)},  // it would excuse itself
      {R"({"exit_code": 4000})", static_cast<int>(ExitCode::internal_error)},
      {nullptr, kExitConnectionLost}};
  for (const auto& one : cases) {
    INFO((one.last != nullptr ? one.last : "nothing"));
    const Fleet fleet;
    Process controller(fleet.listening());
    const auto deadline = testing::out_of_patience();
    auto worker = connected(fleet);
    worker->send_all(R"({"protocol": 1})", deadline);
    static_cast<void>(worker->receive(deadline));
    if (one.last != nullptr) worker->send_last(one.last, deadline);
    worker.reset();
    CHECK(controller.exit_code() == one.exit_code);
  }
}

TEST_CASE("a worker's end says how the worker's process has ended") {
  const Fleet fleet;
  const FleetToken token(fleet.folder / "token");
  const FileDescriptor listening = listen_on(fleet.address, false);
  const auto worker = fleet.worker();
  FileDescriptor socket;
  REQUIRE(testing::in_the_end([&] {
    socket = accept_at(listening);
    return bool(socket);
  }));
  const auto deadline = testing::out_of_patience();
  SecureStream stream(std::move(socket), token, SecureStream::End::controller, deadline);
  static_cast<void>(stream.receive(deadline));
  stream.send_all(R"({"role": "device"})", deadline);
  stream.send_all("no hello\n", deadline);
  CHECK_THROWS_WITH(stream.receive(deadline), Catch::Contains("closed the connection"));
  CHECK(stream.last() == R"({"exit_code":1})");
}

}  // namespace
}  // namespace ak::runtime

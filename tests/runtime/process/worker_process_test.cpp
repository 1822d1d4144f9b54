// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_process.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <map>

#include "core/text/file.h"
#include "core/text/hash.h"
#include "runtime/process/child_process.h"
#include "tests/runtime/process/worker_test_support.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> scripted_worker() {
  auto command = worker_command();
  command.insert(command.end(), {"--role", "scripted_worker"});
  return command;
}

std::vector<std::string> shell_command(std::string script) { return {"/bin/sh", "-c", std::move(script)}; }

WorkerMessage request(std::string type, Json body = Json::object()) {
  return {1, std::move(type), std::move(body), {}};
}

std::string reason_of_loss(WorkerProcess& worker) {
  const auto reply = worker.receive(out_of_patience());
  const auto* lost = std::get_if<WorkerLost>(&reply);
  return lost == nullptr ? "not lost" : lost->reason;
}

/// What this process has allocated and not freed; 0 under a sanitizer, whose heap is another one.
std::size_t bytes_in_use() {
  const auto heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace

TEST_CASE("a message that was sent and one that was taken leave nothing in memory") {
  constexpr std::size_t kMessageBytes = 8u << 20;
  WorkerProcess worker(scripted_worker());
  REQUIRE(worker.await_hello(out_of_patience()));
  const std::size_t before = bytes_in_use();
  if (before == 0) return;  // and with so large a message its worker would pass the limit of memory
  {
    Json body;
    body["text"] = std::string(kMessageBytes, 'x');
    worker.send(request("echo", std::move(body)));
    const auto reply = worker.receive(out_of_patience());
    REQUIRE(std::holds_alternative<WorkerMessage>(reply));
  }
  CHECK(bytes_in_use() < before + kMessageBytes / 2);
}

TEST_CASE("what a worker prints is attached to its answer and cannot pass for one") {
  WorkerProcess worker(scripted_worker());
  REQUIRE(worker.await_hello(out_of_patience()));
  Json body;
  body["text"] = "{\"v\":1,\"id\":1,\"nonce\":\"guess\",\"type\":\"echo\",\"body\":{}}\n";
  worker.send(request("print", body));
  const auto reply = worker.receive(out_of_patience());
  const auto* message = std::get_if<WorkerMessage>(&reply);
  REQUIRE(message != nullptr);
  CHECK(message->body == body);
  CHECK(message->prints == body["text"].get<std::string>() + "and an error\n");
}

TEST_CASE("a flood of prints is cut to its end and does not block the worker") {
  WorkerProcess worker(scripted_worker());
  REQUIRE(worker.await_hello(out_of_patience()));
  Json body;
  body["text"] = std::string(2 << 20, 'x') + "end\n";
  worker.send(request("print", body));
  const auto reply = worker.receive(out_of_patience());
  const auto* message = std::get_if<WorkerMessage>(&reply);
  REQUIRE(message != nullptr);
  CHECK(message->body == body);
  CHECK(message->prints.size() <= kPrintBytes);
  CHECK(message->prints.ends_with("end\nand an error\n"));
}

TEST_CASE("the descriptor is readable exactly while there is something to receive") {
  WorkerProcess worker(scripted_worker());
  REQUIRE(worker.await_hello(out_of_patience()));
  pollfd event{worker.descriptor(), POLLIN, 0};
  CHECK(::poll(&event, 1, 0) == 0);
  CHECK(std::holds_alternative<WorkerTimeout>(worker.receive(in(1ms))));
  worker.send(request("echo"));
  CHECK(::poll(&event, 1, std::chrono::milliseconds(kPatience).count()) == 1);
  CHECK(std::holds_alternative<WorkerMessage>(worker.receive(in(0ms))));
  CHECK(::poll(&event, 1, 0) == 0);
}

TEST_CASE("a worker that breaks the protocol is lost, with the reason") {
  SECTION("wrong nonce") {
    WorkerProcess worker(
        shell_command(R"(echo '{"v":1,"id":0,"nonce":"guess","type":"hello","body":{}}'; sleep 3600)"));
    CHECK(reason_of_loss(worker) == "broke the protocol: wrong nonce");
    CHECK(reason_of_loss(worker) == "broke the protocol: wrong nonce");
  }
  SECTION("no protocol at all") {
    WorkerProcess worker(shell_command("echo hello; sleep 3600"));
    CHECK(reason_of_loss(worker) == "broke the protocol: not a JSON object");
  }
  CHECK(children().empty());
}

TEST_CASE("the end of a worker is reported with its exit code or signal") {
  WorkerProcess exits(shell_command("exit 3"));
  CHECK(reason_of_loss(exits) == "ended with exit code 3");
  WorkerProcess dies(shell_command("kill -9 $$"));
  CHECK(reason_of_loss(dies).starts_with("ended by signal 9"));
  WorkerProcess missing({"/no/such/program"});
  CHECK(reason_of_loss(missing).starts_with("could not be started"));
  CHECK(children().empty());
}

TEST_CASE("what a bug ends a worker with is on the standard error that it was started with") {
  const ChildErrors errors;
  WorkerProcess worker(scripted_worker(), kHeartbeatInterval, &errors);
  REQUIRE(worker.await_hello(out_of_patience()));
  worker.send(request("bug"));
  CHECK_THAT(reason_of_loss(worker), Catch::Contains("signal 6"));
  CHECK_THAT(errors.text(), Catch::Contains("bug: the worker has no bug"));
}

TEST_CASE("errors of a worker that were taken make room for others, and are not taken twice") {
  const ChildErrors errors;
  // Twice as much as there is room for.
  for (int i = 0; i < 2; ++i) {
    WorkerProcess worker(shell_command("head -c 60000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3"),
                         kHeartbeatInterval, &errors);
    CHECK(reason_of_loss(worker) == "ended with exit code 3");
    CHECK(errors.take() == std::string(60000, 'x') + "end\n");
    CHECK(errors.take().empty());
  }
}

TEST_CASE("a launcher that is given time may finish after its worker") {
  const auto mark = std::filesystem::temp_directory_path() / fmt::format("ak-launcher-{}", random_seed());
  // Longer than what a worker without patience is given.
  std::vector<std::string> command{"/bin/sh", "-c", R"("$@"; sleep 0.8; touch )" + mark.string(), "sh"};
  std::ranges::copy(scripted_worker(), std::back_inserter(command));
  WorkerProcess worker(command);
  REQUIRE(worker.await_hello(out_of_patience()));
  worker.finish(kPatience);
  CHECK(std::filesystem::remove(mark));
}

TEST_CASE("a worker ends when its parent closes the channel, however stuck it is") {
  pid_t pid = 0;
  {
    WorkerProcess worker(scripted_worker());
    REQUIRE(worker.await_hello(out_of_patience()));
    pid = worker.pid();
    worker.send(request("stick"));
  }
  CHECK(ends(pid));
  CHECK(children().empty());
}

TEST_CASE("a stuck worker whose parent is killed does not survive it") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that this process learns of its end
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    WorkerProcess worker(scripted_worker());
    const bool started = worker.await_hello(out_of_patience()).ok();
    worker.send(request("stick"));
    const pid_t pid = started ? worker.pid() : 0;
    if (::write(pipe[1], &pid, sizeof pid) != sizeof pid || !started) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(pipe[1]);  // so that reading ends when the parent does
  pid_t worker = 0;
  REQUIRE(::read(pipe[0], &worker, sizeof worker) == sizeof worker);
  REQUIRE(worker > 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  CHECK(ends(worker));
  int status = 0;
  REQUIRE(::waitpid(worker, &status, 0) == worker);
  // By the kernel's SIGKILL or by its own look at the closed channel, whichever comes first: at once, not when
  // it has missed its parent for long.
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const bool saw_the_end = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  CHECK((killed || saw_the_end));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("a worker whose parent falls silent ends itself after ten seconds") {
  WorkerProcess worker(scripted_worker(), 1h);
  REQUIRE(worker.await_hello(out_of_patience()));
  worker.send(request("stick"));
  const auto reply = worker.receive(out_of_patience());
  const auto* lost = std::get_if<WorkerLost>(&reply);
  REQUIRE(lost != nullptr);
  CHECK(lost->exit_code == kExitSilentParent);
  CHECK(lost->reason.find("heard nothing from its parent for 10 s") != std::string::npos);
}

TEST_CASE("of the environment only what the allow-list names reaches a worker, and no key") {
  const std::vector<std::string> names{"ANTHROPIC_API_KEY", "AK_TEST_HARMLESS", "CUDA_VISIBLE_DEVICES",
                                       "LC_AK_TEST",        "LC_SECRET",        "SLURM_JWT",
                                       "SLURM_JOB_ID",      "SSH_AUTH_SOCK"};
  std::map<std::string, std::string> before;
  for (const auto& name : names) {
    if (const char* value = ::getenv(name.c_str())) before[name] = value;
    ::setenv(name.c_str(), "sesame", 1);
  }
  WorkerProcess worker(scripted_worker());
  REQUIRE(worker.await_hello(out_of_patience()));
  const std::string seen = read_file(fmt::format("/proc/{}/environ", worker.pid()));
  const std::string arguments = read_file(fmt::format("/proc/{}/cmdline", worker.pid()));
  const auto launchers = child_environment(true);
  for (const auto& name : names) ::unsetenv(name.c_str());
  for (const auto& [name, value] : before) ::setenv(name.c_str(), value.c_str(), 1);
  const auto passes = [&](const std::string& name) {
    return seen.find(name + "=sesame") != std::string::npos;
  };
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "LC_AK_TEST"}) CHECK(passes(name));
  for (const char* name :
       {"ANTHROPIC_API_KEY", "AK_TEST_HARMLESS", "LC_SECRET", "SLURM_JWT", "SLURM_JOB_ID", "SSH_AUTH_SOCK"}) {
    INFO(name);
    CHECK_FALSE(passes(name));
  }
  CHECK(seen.find("CUDA_CACHE_DISABLE=1") != std::string::npos);
  CHECK(arguments.find("sesame") == std::string::npos);
  CHECK(std::ranges::count(launchers, "SLURM_JOB_ID=sesame") == 1);
  CHECK(std::ranges::count(launchers, "SLURM_JWT=sesame") == 0);
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <thread>

#include "core/text/file.h"
#include "runtime/process/worker_process.h"
#include "tests/runtime/process/worker_test_support.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox_attempts.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> as_role(const std::string& role) {
  auto command = worker_command();
  command.insert(command.end(), {"--role", role});
  return command;
}

Json ask(WorkerProcess& worker, const std::string& type, const Json& body = Json::object()) {
  worker.send({1, type, body, {}});
  const auto reply = worker.receive(out_of_patience());
  const auto* message = std::get_if<WorkerMessage>(&reply);
  REQUIRE(message != nullptr);
  return message->body;
}

/// Runs `body` in its own child, which it may confine, and returns its wait status.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

int try_passwd() {
  const FileDescriptor file(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  return file ? 0 : errno;
}

}  // namespace

TEST_CASE("what the tests of the sandbox try is possible without it") {
  WorkerProcess worker(as_role("scripted_worker"));
  REQUIRE(worker.await_hello(out_of_patience()));
  const Json answer = ask(worker, "attempt");
  for (const ak::test::Attempt& attempt : ak::test::attempts()) {
    if (!attempt.open_to_all) continue;
    INFO(attempt.name << ": " << answer[std::string(attempt.name)]);
    CHECK((answer[std::string(attempt.name)] != EPERM && answer[std::string(attempt.name)] != EACCES));
  }
}

TEST_CASE("a compile worker is refused files, network and other processes, and builds anyway") {
  WorkerProcess worker(as_role("compile"));
  const auto hello = worker.await_hello(out_of_patience());
  REQUIRE(hello);
  INFO(hello->dump());
  CHECK_THAT(ak::test::not_refused(*hello, ask(worker, "attempt")),
             Catch::Equals(std::vector<std::string>{}));
  const auto unit =
      unit_of("#include <cuda_fp16.h>\nextern \"C\" __global__ void k(half* x) { x[0] = 2; }\n");
  CHECK(build_result_from_json(ask(worker, "compile", to_json(unit))).outcome.status == Status::ok);
  const std::string limits = read_file(fmt::format("/proc/{}/limits", worker.pid()));
  const auto hard_limit = [&](const std::string& name) {
    const std::size_t at = limits.find(name);
    return limits.substr(at + 26, 42);
  };
  INFO(limits);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK_THAT(hard_limit("Max address space"), Catch::Contains("2147483648"));
#endif
  CHECK_THAT(hard_limit("Max file size"), Catch::Contains("536870912"));
  CHECK_THAT(hard_limit("Max cpu time"), !Catch::StartsWith("unlimited"));
}

TEST_CASE("threads that are older than the confinement are confined too") {
  const int status = in_child([] {
    std::atomic<bool> confined{false};
    std::atomic<int> error{-1};
    std::thread older([&] {
      if (!ak::testing::in_the_end([&] { return confined.load(); })) return;
      error = try_passwd();
    });
    Confinement confinement = confine({});
    confined = true;
    older.join();
#if defined(__SANITIZE_THREAD__)
    confinement.degradation.clear();  // its runtime delivers signals late: the answer comes after the count
#endif
    return confinement.landlock_abi == 0 || (error == EACCES && confinement.degradation.empty()) ? 0 : 1;
  });
  CHECK(status == 0);
}

TEST_CASE("what is permitted stays possible, single files included, and writing only where it is permitted") {
  const int status = in_child([] {
    static_cast<void>(confine({{"/etc/passwd", "/no/such/file"}, {"/dev/null"}}));
    if (try_passwd() != 0) return 1;
    const FileDescriptor written(::open("/dev/null", O_WRONLY)), refused(::open("/etc/passwd", O_WRONLY));
    std::thread([] {}).join();
    return written && !refused ? 0 : 2;
  });
  CHECK(status == 0);
}

TEST_CASE(
    "a process that may listen makes Unix sockets and listens; it connects to nothing and accepts nothing") {
  const int status = in_child([] {
    static_cast<void>(confine({.readable = {}, .writable = {}, .local_listeners = true}));
    const FileDescriptor internet(::socket(AF_INET, SOCK_STREAM, 0));
    const FileDescriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    if (internet || !listener) return 1;
    sockaddr_un address{AF_UNIX, ""};  // the name of no file: it begins with a zero
    fmt::format_to_n(&address.sun_path[1], sizeof address.sun_path - 2, "ak_sandbox_test_{}", ::getpid());
    const auto* const name = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(listener.get(), name, sizeof address) != 0 || ::listen(listener.get(), 1) != 0) return 2;
    const FileDescriptor other(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    if (::connect(other.get(), name, sizeof address) == 0 || errno != EPERM) return 3;
    if (::accept(listener.get(), nullptr, nullptr) >= 0 || errno != EPERM) return 4;
    return ::send(other.get(), "x", 1, 0) < 0 && errno == EPERM ? 0 : 5;
  });
  CHECK(status == 0);
}

TEST_CASE("a kernel without Landlock is named, and system calls are refused anyway") {
  const int status = in_child([] {
    // Such a kernel, as far as this process can tell.
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{4, code};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    const Confinement confinement = confine({});
    if (confinement.landlock_abi != 0 || confinement.degradation.find("Landlock") == std::string::npos)
      return 1;
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    return confinement.filtered && !socket && errno == EPERM ? 0 : 2;
  });
  CHECK(status == 0);
}

TEST_CASE("CPU time beyond the limit ends the process, and a new limit starts again") {
  const int status = in_child([] {
    forbid_core_dumps();
    limit_cpu_time(1s);
    limit_cpu_time(0s);
    for (volatile unsigned i = 0;;) i = i + 1;
    return 0;
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGXCPU);
}

TEST_CASE("a worker whose resident memory passes its limit ends as out of memory") {
  WorkerProcess worker(as_role("scripted_worker"));
  REQUIRE(worker.await_hello(out_of_patience()));
  worker.send({1, "grow", {{"mebibytes", 300}}, {}});
  const auto reply = worker.receive(out_of_patience());
  const auto* lost = std::get_if<WorkerLost>(&reply);
  REQUIRE(lost != nullptr);
  CHECK(lost->exit_code == kExitOutOfMemory);
}

TEST_CASE("the probe of the sandbox names each protection and finds in force what the kernel offers") {
  WorkerProcess worker(as_role("sandbox"));
  const auto hello = worker.await_hello(out_of_patience());
  REQUIRE(hello);
  for (const Json& one : hello->at("protections")) {
    INFO(one.dump());
    const std::string part = one.at("part");
    if (part == "privileges" || part == "watchdog" || part == "core dumps") CHECK(one.at("in_force") == true);
    CHECK_FALSE(one.at("remedy").get<std::string>().empty());
  }
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sandbox_attempts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

#include "runtime/build/compile_worker.h"
#include "runtime/worker/device_worker.h"
#include "runtime/worker/worker_main.h"

namespace ak::test {
namespace {

int error_of(long result) { return result < 0 ? errno : 0; }

int open_for(const std::string& path, int flags) {
  const FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  return file ? 0 : errno;
}

int create_file() {
  const std::string path = fmt::format("/tmp/ak_attempt_{}", ::getpid());
  const int error = open_for(path, O_RDWR | O_CREAT);
  ::unlink(path.c_str());
  return error;
}

int open_socket(int family, int type) {
  const FileDescriptor socket(::socket(family, type | SOCK_CLOEXEC, 0));
  return socket ? 0 : errno;
}

int start_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const int error = error_of(child);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return error;
}

// Of a program that is missing: nothing more happens where it is allowed.
int execute() {
  char name[] = "/no/such/program";
  char* const arguments[] = {name, nullptr};
  return error_of(::execv(name, arguments));
}

int read_parents_memory() {
  char buffer[8];
  iovec here{buffer, sizeof buffer}, there{buffer, sizeof buffer};
  return error_of(::process_vm_readv(::getppid(), &here, 1, &there, 1, 0));
}

// Of files that are missing: nothing is changed where it is allowed. The filter answers before the file is looked for.
constexpr const char* kNoFile = "/no/such/file";

int set_attribute() { return error_of(::syscall(SYS_setxattr, kNoFile, "user.a", "b", 1, 0)); }

// Its own affinity it may have, of course.
int pin_the_parent() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return error_of(::syscall(SYS_sched_setaffinity, ::getppid(), sizeof cores, &cores));
}

constexpr Attempt kAttempts[] = {
    {"read /etc/passwd", [] { return open_for("/etc/passwd", O_RDONLY); }, true, true},
    {"list /", [] { return open_for("/", O_RDONLY | O_DIRECTORY); }, true, true},
    {"read the parent's environment",
     [] { return open_for(fmt::format("/proc/{}/environ", ::getppid()), O_RDONLY); }, true, true},
    {"create a file", create_file, true, true},
    {"TCP socket", [] { return open_socket(AF_INET, SOCK_STREAM); }, true},
    {"UDP socket", [] { return open_socket(AF_INET, SOCK_DGRAM); }, true},
    {"Unix socket", [] { return open_socket(AF_UNIX, SOCK_STREAM); }, true},
    {"start a process", start_process, true},
    {"execute a program", execute, true},
    {"signal the parent", [] { return error_of(::kill(::getppid(), 0)); }, true},
    {"trace the parent", [] { return error_of(::ptrace(PTRACE_PEEKDATA, ::getppid(), nullptr, nullptr)); },
     true},
    {"read the parent's memory", read_parents_memory},
    {"change the parent's limits",
     [] { return error_of(::syscall(SYS_prlimit64, ::getppid(), 4, nullptr, nullptr)); }, true},
    {"permissions of a file", [] { return error_of(::syscall(SYS_fchmodat, AT_FDCWD, kNoFile, 0777)); },
     true},
    {"owner of a file", [] { return error_of(::syscall(SYS_fchownat, AT_FDCWD, kNoFile, 0, 0, 0)); }, true},
    {"times of a file", [] { return error_of(::syscall(SYS_utimensat, AT_FDCWD, kNoFile, nullptr, 0)); },
     true},
    {"attributes of a file", set_attribute, true},
    {"cut a file off", [] { return error_of(::syscall(SYS_truncate, kNoFile, 0)); }, true},
    {"processors of the parent", pin_the_parent, true},
    {"priority of the parent", [] { return error_of(::syscall(SYS_setpriority, 0, ::getppid(), 0)); }},
    {"another user", [] { return error_of(::syscall(SYS_setresuid, -1, -1, -1)); }, true},
    {"outlive the parent", [] { return error_of(::prctl(PR_SET_PDEATHSIG, SIGKILL)); }, true},
    {"an object of System V", [] { return error_of(::syscall(SYS_semctl, -1, 0, 0)); }, true},
    {"mount", [] { return error_of(::mount("none", "/no/such/folder", "tmpfs", 0, nullptr)); }},
    {"user namespace", [] { return error_of(::syscall(SYS_unshare, 0x10000000)); }},
    {"keys", [] { return error_of(::syscall(SYS_keyctl, 0, -3, 0)); }},
    {"BPF", [] { return error_of(::syscall(SYS_bpf, 0, nullptr, 0)); }},
    {"io_uring", [] { return error_of(::syscall(SYS_io_uring_setup, 0, nullptr)); }},
};

Json attempt_all() {
  Json answer = Json::object();
  for (const Attempt& attempt : kAttempts) answer[std::string(attempt.name)] = attempt.make();
  return answer;
}

Json load(const std::string& library) {
  const bool loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  return {{"error", loaded ? "" : ::dlerror()}};
}

// The worker is to end here, by its watchdog.
Json grow(std::size_t mebibytes) {
  const std::string memory(mebibytes << 20, 'x');
  ::sleep(3600);
  return {{"last", std::string(1, memory.back())}};
}

int serve(int (*role)(runtime::WorkerChannel&)) {
  runtime::WorkerChannel channel;
  return channel.await_hello() ? role(channel) : 1;
}

int serve_device(runtime::WorkerChannel& channel) {
  return runtime::serve_device(channel, {.other = attempt_in_worker});
}
int serve_small_device(runtime::WorkerChannel& channel) {
  return runtime::serve_device(channel, {.resident_bytes = std::size_t{80} << 20});
}
int serve_compile(runtime::WorkerChannel& channel) {
  return runtime::serve_compile(channel, attempt_in_worker);
}

}  // namespace

std::span<const Attempt> attempts() { return kAttempts; }

Json attempt_in_worker(const runtime::WorkerMessage& request) {
  if (request.type == "load") return load(request.body.at("library"));
  if (request.type == "grow") return grow(request.body.at("mebibytes"));
  return attempt_all();
}

std::vector<std::string> not_refused(const Json& facts, const Json& answer) {
  if (facts.at("degradation") != "") WARN("not all of the sandbox is tested: " << facts.at("degradation"));
  std::vector<std::string> names;
  for (const Attempt& attempt : kAttempts) {
    const bool expected = attempt.on_files ? facts.at("landlock_abi") > 0 : facts.at("filtered") == true;
    const Json& error = answer.at(std::string(attempt.name));
    if (expected && error != EPERM && error != EACCES)
      names.push_back(fmt::format("{} ({})", attempt.name, error.dump()));
  }
  return names;
}

int serve_test_worker(std::span<const std::string> arguments) {
  const std::string role = arguments.size() == 3 ? arguments[2] : "";
  if (arguments[0] == "small_worker" && role == "device") return serve(serve_small_device);
  if (role == "device") return serve(serve_device);
  if (role == "compile") return serve(serve_compile);
  return runtime::worker_main(arguments.subspan(1));
}

}  // namespace ak::test

// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/sandbox_probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "runtime/build/compile_worker.h"
#include "runtime/process/sandbox.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kFileBytes = std::size_t{1} << 20;

bool files_refused() {
  const FileDescriptor root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !root && errno == EACCES;
}

bool calls_refused() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool no_socket = !socket && errno == EPERM;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return no_socket && child < 0;
}

bool privileges_fixed() { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1; }

bool memory_limited() {
  constexpr std::size_t bytes = 2 * kCompileWorkerBytes;
  void* const block = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return true;
  ::munmap(block, bytes);
  return false;
}

bool memory_watched() { return resident_bytes() > 0; }

bool dumps_forbidden() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max <= 1;
}

struct Protection {
  const char* part;
  bool (*in_force)();
  const char* meaning;  ///< when in force
  const char* cost;
  const char* remedy;
};

constexpr Protection kProtections[] = {
    {"Landlock", files_refused, "workers open only the files they need",
     "a candidate may read what you may read; includes are checked by text only",
     "Linux 5.13 or newer with landlock in the list of security modules (lsm=), and a container that allows "
     "its system calls"},
    {"seccomp", calls_refused, "workers open no sockets and start no processes",
     "a candidate that takes a worker over may use the network and start programs",
     "a kernel with CONFIG_SECCOMP_FILTER, and a container that allows seccomp()"},
    {"privileges", privileges_fixed, "workers cannot gain any", "set-user-id programs keep their power",
     "Linux 3.5 or newer"},
    {"memory cap", memory_limited, "compile workers have 2 GiB of address space",
     "a source may exhaust the machine's memory", "a build without sanitizers"},
    {"watchdog", memory_watched, "device workers end when they use too much memory",
     "a candidate may exhaust the machine's memory", "mount /proc"},
    {"core dumps", dumps_forbidden, "workers write none", "a crash may fill the disk", "allow setrlimit()"},
};

Json describe(const Protection& protection, const Confinement& confinement) {
  const bool in_force = protection.in_force();
  std::string detail = in_force ? protection.meaning : "tried, and not refused";
  if (protection.in_force == files_refused && in_force)
    detail += fmt::format(" (ABI {})", confinement.landlock_abi);
  if (!in_force && !confinement.degradation.empty()) detail += ": " + confinement.degradation;
  return {{"part", protection.part},
          {"in_force", in_force},
          {"detail", std::move(detail)},
          {"cost", protection.cost},
          {"remedy", protection.remedy}};
}

}  // namespace

int serve_sandbox_probe(WorkerChannel& channel) {
  limit_resources(kCompileWorkerBytes, kFileBytes);
  const Confinement confinement = confine({});
  Json facts = Json::object();
  facts["protections"] = Json::array();
  for (const Protection& protection : kProtections)
    facts["protections"].push_back(describe(protection, confinement));
  channel.answer_hello(std::move(facts));
  while (channel.receive()) {
  }
  return static_cast<int>(ExitCode::ok);
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/error.h"
#include "core/text/file.h"
#include "runtime/process/every_thread.h"
#include "runtime/process/system_call_filter.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {
namespace {

// Newer than the linux/landlock.h of many systems; values from the kernel's user-space API.
struct RulesetAttributes {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};
constexpr std::uint64_t kBindAndConnectTcp = 3;
constexpr std::uint64_t kAbstractSocketsAndSignals = 3;
constexpr std::uint64_t kReadRights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// Number of file rights of each ABI: REFER came with 2, TRUNCATE with 3, IOCTL_DEV with 5.
std::uint64_t file_rights(int abi) {
  const int count = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return (std::uint64_t{1} << count) - 1;
}

std::size_t attribute_bytes(int abi) {
  if (abi >= 6) return sizeof(RulesetAttributes);
  return abi >= 4 ? offsetof(RulesetAttributes, scoped) : offsetof(RulesetAttributes, handled_access_net);
}

FileDescriptor make_ruleset(int abi) {
  RulesetAttributes attributes{file_rights(abi), 0, 0};
  if (abi >= 4) attributes.handled_access_net = kBindAndConnectTcp;
  if (abi >= 6) attributes.scoped = kAbstractSocketsAndSignals;
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, attribute_bytes(abi), 0U)));
}

// A rule for a file may name no right that only folders have.
constexpr std::uint64_t kRightsOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                         LANDLOCK_ACCESS_FS_READ_FILE | std::uint64_t{1} << 14 |  // TRUNCATE
                                         std::uint64_t{1} << 15;                                  // IOCTL_DEV

void allow(int ruleset, const std::filesystem::path& path, std::uint64_t rights) {
  const FileDescriptor fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(info.st_mode) ? rights : rights & kRightsOfFiles;
  rule.parent_fd = fd.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0)
    fail(ExitCode::environment, "allowing {} in the sandbox: {}", path.string(), std::strerror(errno));
}

int entered_ruleset = -1;  // of enter(), which a signal handler runs

// Async-signal-safe.
bool enter() {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, entered_ruleset, 0U) == 0;
}

void degrade(Confinement& confinement, std::string_view why) {
  if (!confinement.degradation.empty()) confinement.degradation += "; ";
  confinement.degradation += why;
}

int landlock_abi() {
  return static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION));
}

struct Rule {
  std::filesystem::path path;
  std::uint64_t rights;
};

std::vector<Rule> rules_of(const Permissions& permissions, int abi) {
  // Everything but executing and making devices.
  const std::uint64_t write_rights =
      file_rights(abi) & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                        LANDLOCK_ACCESS_FS_MAKE_BLOCK};
  std::vector<Rule> rules;
  for (const auto& path : permissions.readable) rules.push_back({path, kReadRights});
  for (const auto& path : permissions.executable)
    rules.push_back({path, kReadRights | LANDLOCK_ACCESS_FS_EXECUTE});
  for (const auto& path : permissions.writable) rules.push_back({path, write_rights});
  return rules;
}

FileDescriptor ruleset_for(int abi) {
  FileDescriptor ruleset = make_ruleset(abi);
  if (!ruleset) fail(ExitCode::environment, "making a Landlock ruleset: {}", std::strerror(errno));
  return ruleset;
}

void confine_files(const Permissions& permissions, Confinement& confinement) {
  const int abi = landlock_abi();
  if (abi < 1)
    return degrade(confinement, fmt::format("the kernel has no Landlock ({})", std::strerror(errno)));
  const FileDescriptor ruleset = ruleset_for(abi);
  for (const Rule& rule : rules_of(permissions, abi)) allow(ruleset.get(), rule.path, rule.rights);
  entered_ruleset = ruleset.get();
  // The others first: a confined thread may no longer list them.
  const int missed = run_on_other_threads(enter);
  if (!enter()) fail(ExitCode::environment, "entering the sandbox: {}", std::strerror(errno));
  confinement.landlock_abi = abi;
  if (missed > 0)
    degrade(confinement, fmt::format("{} threads of libraries block signals and keep their files", missed));
}

std::size_t address_space_limit = 0;  // bytes
const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

struct MemoryPages {
  std::size_t total = 0, resident = 0;
};

// Async-signal-safe once it was called: the descriptor outlives the right to open the file.
MemoryPages memory_pages() {
  static const int status = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  std::array<char, 64> text{};
  const ssize_t count = ::pread(status, text.data(), text.size() - 1, 0);
  MemoryPages pages;
  if (count <= 0) return pages;
  const char* const end = text.data() + count;
  const char* next = std::from_chars(text.data(), end, pages.total).ptr;
  if (next != end) std::from_chars(next + 1, end, pages.resident);
  return pages;
}

// Async-signal-safe.
bool is_out_of_memory() {
  // A compiler that dies with more than half of its memory in use died of it: the request that failed may
  // have been for as much again. Ordinary builds stay below a quarter.
  return memory_pages().total * page_bytes >= address_space_limit / 2;
}

void on_fatal_signal(int signal) {
  if (is_out_of_memory()) ::_exit(kExitOutOfMemory);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void on_failed_new() { ::_exit(kExitOutOfMemory); }

void set_limit(__rlimit_resource resource, std::size_t value) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(resource, &limit);
}

}  // namespace

AllowedCalls allowed_calls(const Permissions& permissions) {
  return {.programs = !permissions.executable.empty(),
          .local_listeners = permissions.local_listeners,
          .memory_files = permissions.memory_files};
}

FileRules file_rules(const Permissions& permissions) {
  const int abi = landlock_abi();
  if (abi < 1) return {};
  FileRules rules{.ruleset = ruleset_for(abi)};
  for (const Rule& rule : rules_of(permissions, abi)) {
    if (rule.path.string().starts_with("/proc/self"))
      rules.own.push_back({rule.path.string(), rule.rights});
    else
      allow(rules.ruleset.get(), rule.path, rule.rights);
  }
  return rules;
}

Confinement confine(const Permissions& permissions) {
  Confinement confinement;
  confine_files(permissions, confinement);
  const std::string missing = filter_system_calls(allowed_calls(permissions));
  confinement.filtered = missing.empty();
  if (!missing.empty()) degrade(confinement, missing);
  if (!missing.empty() && confinement.landlock_abi < 4) degrade(confinement, "the network is open");
  return confinement;
}

void limit_resources(std::size_t address_space_bytes, std::size_t file_bytes) {
  static_cast<void>(memory_pages());
  address_space_limit = address_space_bytes;
  std::set_new_handler(on_failed_new);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(signal, on_fatal_signal);
  std::signal(SIGXFSZ, SIG_DFL);  // what runs away ends
  set_limit(RLIMIT_FSIZE, file_bytes);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The sanitizers reserve terabytes of address space.
  set_limit(RLIMIT_AS, address_space_bytes);
#endif
}

void limit_cpu_time(std::chrono::seconds more) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  const auto seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + more.count();
  // The soft limit: the next build gets a new one.
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, static_cast<rlim_t>(seconds));
  ::setrlimit(RLIMIT_CPU, &limit);
}

// 1 rather than 0: the kernel takes it for a dump in a dump and writes none to a core_pattern's program
// either, which 0 does not prevent (core(5)).
void forbid_core_dumps() { set_limit(RLIMIT_CORE, 1); }

std::size_t resident_bytes() { return memory_pages().resident * page_bytes; }

}  // namespace ak::runtime

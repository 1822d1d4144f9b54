// SPDX-License-Identifier: Apache-2.0
#include "runtime/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#include "core/file.h"
#include "runtime/worker_protocol.h"

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

void allow(int ruleset, const std::filesystem::path& folder, std::uint64_t rights) {
  const FileDescriptor fd(::open(folder.c_str(), O_PATH | O_CLOEXEC));
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = fd.get();
  if (!fd || ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0)
    fail(ExitCode::environment, "allowing {} in the sandbox: {}", folder.string(), std::strerror(errno));
}

int status_descriptor = -1;           // /proc/self/statm, opened before files are closed to us
std::size_t address_space_limit = 0;  // bytes

// Async-signal-safe.
bool is_out_of_memory() {
  std::array<char, 64> text{};
  const ssize_t count = ::pread(status_descriptor, text.data(), text.size() - 1, 0);
  std::size_t pages = 0;
  if (count > 0) std::from_chars(text.data(), text.data() + count, pages);
  // A compiler that dies with more than half of its memory in use died of it: the request that failed may
  // have been for as much again. Ordinary builds stay below a quarter.
  return pages * 4096 >= address_space_limit / 2;
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

Confinement confine_files(const std::vector<std::filesystem::path>& readable,
                          const std::vector<std::filesystem::path>& writable) {
  const int abi = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION));
  if (abi < 1)
    return {0, fmt::format("the kernel has no Landlock ({}): includes are only checked in the text",
                           std::strerror(errno))};
  const FileDescriptor ruleset = make_ruleset(abi);
  if (!ruleset) fail(ExitCode::environment, "making a Landlock ruleset: {}", std::strerror(errno));
  for (const auto& folder : readable) allow(ruleset.get(), folder, kReadRights);
  // Everything but executing and making devices.
  const std::uint64_t write_rights =
      file_rights(abi) & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                        LANDLOCK_ACCESS_FS_MAKE_BLOCK};
  for (const auto& folder : writable) allow(ruleset.get(), folder, write_rights);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) != 0)
    fail(ExitCode::environment, "entering the sandbox: {}", std::strerror(errno));
  if (abi < 4) return {abi, fmt::format("Landlock ABI {} does not deny network connections", abi)};
  return {abi, {}};
}

void limit_resources(std::size_t address_space_bytes, std::size_t file_bytes) {
  status_descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  address_space_limit = address_space_bytes;
  std::set_new_handler(on_failed_new);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(signal, on_fatal_signal);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, file_bytes);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The sanitizers reserve terabytes of address space.
  set_limit(RLIMIT_AS, address_space_bytes);
#endif
}

}  // namespace ak::runtime

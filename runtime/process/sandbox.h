// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/text/file.h"
#include "runtime/process/system_call_filter.h"

namespace ak::runtime {

/// What a confined process may still open; folders with all below them, or single files. What does not exist
/// is passed over.
struct Permissions {
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;  ///< and readable
  /// Programs that it may become (execve); with none of them it may start no program at all.
  std::vector<std::filesystem::path> executable = {};
  bool local_listeners = false;  ///< the CUDA driver starts here (system_call_filter.h)
  bool memory_files = false;     ///< the CUDA driver works here (system_call_filter.h)
};

/// What of `permissions` a filter of system calls knows.
[[nodiscard]] AllowedCalls allowed_calls(const Permissions& permissions);

/// What of `permissions` a process may open, for one that is to confine itself (landlock_restrict_self); empty where the
/// kernel has no Landlock. `own`: what lies under /proc/self, which is another folder there, and the rights to add.
struct FileRules {
  struct Own {
    std::string path;
    std::uint64_t rights = 0;
  };
  FileDescriptor ruleset = {};
  std::vector<Own> own = {};
};
[[nodiscard]] FileRules file_rules(const Permissions& permissions);

/// What keeps the process from files, the network and other processes.
struct Confinement {
  int landlock_abi = 0;     ///< 0: files are not confined
  bool filtered = false;    ///< system calls are (system_call_filter.h)
  std::string degradation;  ///< why something is missing; empty when all of it is enforced
};

/// From now on every thread of the process, and whatever it starts, may open nothing but what is permitted
/// (Landlock), make none of the refused system calls, and gain no privileges. Cannot be undone. What the
/// kernel lacks is not enforced, and the answer says so. Throws Error(environment) when the kernel offers a
/// protection and then fails to give it.
[[nodiscard]] Confinement confine(const Permissions& permissions);

/// Caps the process's address space and the size of files it writes. Running out of memory then ends the
/// process with kExitOutOfMemory instead of an abort.
void limit_resources(std::size_t address_space_bytes, std::size_t file_bytes);

/// The process, all threads together, is ended by SIGXCPU after this much more CPU time. Each
/// call starts again.
void limit_cpu_time(std::chrono::seconds more);

void forbid_core_dumps();

/// Memory of this process that is in use, in bytes; 0 when the system does not say. Any thread; works in a
/// confined process if it was called once before.
[[nodiscard]] std::size_t resident_bytes();

}  // namespace ak::runtime

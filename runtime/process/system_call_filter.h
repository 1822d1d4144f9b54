// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ak::runtime {

/// Calls that some processes need and the rest have no use for.
struct AllowedCalls {
  bool programs = false;  ///< execve()
  /// Making Unix sockets, binding them and listening: cuInit() fails without its own (CUDA error 304). They
  /// stay without a connection: accepting, connecting and sending are refused.
  bool local_listeners = false;
  bool memory_files = false;  ///< memfd_create(): memory that no limit of the process counts
  /// It makes copies of itself, ends and limits them, hands them descriptors (sendmsg()), and takes connections at a
  /// socket that it inherited.
  bool copies = false;
};

/// From now on the system refuses (EPERM) to every thread of the process what a worker has no use for:
/// permissions, owners, times and attributes of files, network sockets of any kind, starting processes and
/// programs, signals to, the memory of and the scheduling of other processes, other identities, mounts and
/// namespaces, keys, BPF, io_uring (which would go around this filter), and administration. The table in the source is the list. Cannot be undone. Empty, or why the filter is
/// not in force.
[[nodiscard]] std::string filter_system_calls(AllowedCalls allowed = {});

/// The code of a filter (struct sock_filter, as bytes) that refuses the start of programs and nothing else: for
/// a process that was let become another program, to give that up too.
[[nodiscard]] std::string program_refusal();

/// The code of the filter of filter_system_calls(), for another process to load, whose number stands where
/// kAnyProcess is: four bytes of the code, wherever they lie at a multiple of four.
[[nodiscard]] std::string filter_code(AllowedCalls allowed);
/// No number of a process (they end at 2^22) and none of the filter's other constants (chosen).
inline constexpr std::uint32_t kAnyProcess = 0x7fffa5a5U;

}  // namespace ak::runtime

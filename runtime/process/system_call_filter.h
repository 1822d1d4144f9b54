// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::runtime {

/// Calls that some processes need and the rest have no use for.
struct AllowedCalls {
  bool programs = false;  ///< execve()
  /// Making Unix sockets, binding them and listening: cuInit() fails without its own (CUDA error 304). They
  /// stay without a connection: accepting, connecting and sending are refused.
  bool local_listeners = false;
  bool memory_files = false;  ///< memfd_create(): memory that no limit of the process counts
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

}  // namespace ak::runtime

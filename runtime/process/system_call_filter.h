// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::runtime {

/// From now on the system refuses (EPERM) to every thread of the process what a worker has no use for:
/// network sockets of any kind, starting processes and programs, signals to and the memory of other
/// processes, mounts and namespaces, keys, BPF, io_uring (which would go around this filter), and
/// administration. The table in the source is the list. Cannot be undone. Empty, or why the filter is
/// not in force.
[[nodiscard]] std::string filter_system_calls();

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/json.h"
#include "runtime/process/sandbox.h"

namespace ak::runtime {

/// Descriptors that a reference process inherits: its socket, its exchange memory, and that of the device where it
/// has some.
inline constexpr int kReferenceSocket = 3, kReferenceMemory = 4, kReferenceDeviceMemory = 5;
/// Those of a starter (reference_starter.h): a file with its first lines, the socket that it is asked at, and a pipe
/// whose other end is closed when it is to end.
inline constexpr int kStarterLines = 3, kStarterListener = 4, kStarterLifeline = 5;
/// What its Python runs first, of reference_python_files().
inline constexpr std::string_view kBootFile = "boot.py";

/// The first line that it reads: to what it confines itself before it becomes a Python interpreter.
struct ReferenceConfinement {
  pid_t parent = 0;
  std::string program;
  std::vector<std::string> readable;
  bool gpu = false;
  bool device_memory = false;    ///< it inherits kReferenceDeviceMemory
  std::size_t memory_bytes = 0;  ///< 0: no limit
  bool starter = false;          ///< it only makes copies, which confine themselves to files
};
[[nodiscard]] Json to_json(const ReferenceConfinement& confinement);

/// What a reference process may do once Python runs.
[[nodiscard]] Permissions reference_permissions(const std::vector<std::string>& readable, bool gpu);
/// Bytes of address space beyond its memory that a process without a GPU gets: libraries of PyTorch with CUDA (6 GiB)
/// and stacks of threads, which are mapped and hardly filled.
inline constexpr std::size_t kReferenceMappedBytes = std::size_t{8} << 30;

/// `worker --role reference`: confines the process and becomes the Python interpreter. Returns an exit code where that
/// is not possible.
[[nodiscard]] int become_reference_process();

}  // namespace ak::runtime

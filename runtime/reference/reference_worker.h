// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/json.h"

namespace ak::runtime {

/// Descriptors that a reference process inherits: its socket, its exchange memory, and that of the device where it
/// has some.
inline constexpr int kReferenceSocket = 3, kReferenceMemory = 4, kReferenceDeviceMemory = 5;
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
};
[[nodiscard]] Json to_json(const ReferenceConfinement& confinement);

/// `worker --role reference`: confines the process and becomes the Python interpreter. Returns an exit code where that
/// is not possible.
[[nodiscard]] int become_reference_process();

}  // namespace ak::runtime

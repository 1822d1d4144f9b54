// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ak::runtime {

/// What keeps the process from files and the network.
struct Confinement {
  int landlock_abi = 0;     ///< 0: not confined
  std::string degradation;  ///< why something is missing; empty when all of it is enforced
};

/// From now on the calling thread, and every thread and process it starts, may read below `readable`, read
/// and write below `writable`, and neither open another file nor make a TCP connection. Cannot be undone.
/// Where the kernel has no Landlock nothing is enforced, and the answer says so.
[[nodiscard]] Confinement confine_files(const std::vector<std::filesystem::path>& readable,
                                        const std::vector<std::filesystem::path>& writable);

/// Caps the process's address space and the size of files it writes, and disables core dumps. Running out of
/// memory then ends the process with kExitOutOfMemory instead of an abort.
void limit_resources(std::size_t address_space_bytes, std::size_t file_bytes);

}  // namespace ak::runtime

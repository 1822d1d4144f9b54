// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/setup/config.h"
#include "core/device/block_occupancy.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::app {

/// A launch, and what a block of it asks of an SM.
struct LaunchNeeds {
  BlockNeeds block;
  int dynamic_shared_bytes = 0;           ///< of block.shared_bytes
  int max_threads = kMaxThreadsPerBlock;  ///< of a block, by CUDA or by launch bounds
  std::string kernel = {};                ///< empty: only its numbers are known
  std::vector<std::string> shapes = {};   ///< names of the workloads that launch it so
};

/// The launches of a kernel, different ones only, for the problem's timed shapes (all but deep ones where it times
/// none). Compiles the kernel and runs nothing. Blocks. Throws Error(bad_input) when it cannot be compiled or
/// launched, Error(usage) for an architecture that CUDA no longer compiles for.
[[nodiscard]] std::vector<LaunchNeeds> launches_of_kernel(
    const std::shared_ptr<const ProblemInstance>& problem, const Candidate& candidate, const Arch& arch,
    const Config& config);

/// The architecture that a name stands for; `native`, or nothing there and in the configuration: that of the GPU
/// here, else the one that is emulated. Throws Error(usage) for an unknown one.
[[nodiscard]] Arch occupancy_arch(const std::string& name, const Config& config);

/// A size of block that could be launched with the same registers and shared memory.
struct SizedOccupancy {
  int threads;
  BlockOccupancy occupancy;
};
/// All of whole warps, smallest first, and the launch's own.
[[nodiscard]] std::vector<SizedOccupancy> occupancy_by_size(const ArchLimits& limits,
                                                            const LaunchNeeds& launch);

/// What the operation `occupancy` answers. @param arch one that occupancy_limits() knows
[[nodiscard]] Json occupancy_json(const Arch& arch, const std::vector<LaunchNeeds>& launches);

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/evaluation.h"

namespace ak::profiler {

/// How much is known of a candidate. Each step includes the ones before it.
enum class Knowledge : std::uint8_t {
  plan,   ///< its launch plan at one point of the tunables; nothing was compiled
  build,  ///< what ptxas reported
  count   ///< exact counts of the CPU device
};
inline constexpr std::array kKnowledge{Knowledge::plan, Knowledge::build, Knowledge::count};
[[nodiscard]] std::string_view to_string(Knowledge knowledge);

/// Fewest operations and bytes of one call, by the problem's formulas.
struct MinWork {
  double flops = 0, bytes_read = 0, bytes_written = 0;
};
/// A formula that has no value counts as 0.
[[nodiscard]] MinWork min_work(const ProblemInstance& problem, const Workload& workload);

/// Which unit a source multiplies matrices with, by the instructions it names.
enum class MatrixUnit : std::uint8_t { none, warp, warp_group };

/// Blocks that an SM holds at a time, and active warps over the most it can hold.
struct Residency {
  double blocks_per_sm = 1, occupancy = 1;
};

/// One launch of a plan.
struct LaunchFacts {
  double blocks = 1, threads = 1;  ///< threads of one block
  double cluster = 1;
  double planned_shared_bytes = 0;        ///< of one block, dynamic
  double shared_bytes = 0;                ///< of one block, static too
  double registers = 0, spill_bytes = 0;  ///< of one thread; 0 when not built
  Residency planned = {};                 ///< by threads and dynamic shared memory alone
  Residency built = {};  ///< by registers and static shared memory too; as planned when not built
};

/// Everything a prediction is made from: one call of a candidate on one workload.
struct CallFacts {
  Knowledge knowledge = Knowledge::plan;
  MinWork work;
  std::string dtype = {};  ///< of the first input
  double element_bytes = 4;
  MatrixUnit matrix_unit = MatrixUnit::none;
  bool tensor_maps = false, async_copies = false;
  std::vector<LaunchFacts> launches = {};
  std::string kernels = {};  ///< names of what is launched, in order
  double workspace_bytes = 0;
  Counts counts = {};  ///< of the whole call; empty unless counted
  std::string space =
      {};  ///< problem, kernels and tunables of the plan: what tunables mean is the same in it
  TunableValues tunables = {};

  /// The launch that does the work: the one with the most threads; where matrix units multiply, the one
  /// with the most shared memory a block.
  [[nodiscard]] const LaunchFacts& main_launch() const;
  [[nodiscard]] double count(std::string_view name) const;
  /// The same call as it looks to someone who knows no more than `most`.
  [[nodiscard]] CallFacts limited_to(Knowledge most) const;
};

/// Resolves the plan for one shape. `kernels`: what ptxas reported, empty when nothing was built.
/// Error: why the plan has no value for this shape, a candidate's fault.
[[nodiscard]] Result<CallFacts> call_facts(const ProblemInstance& problem, const MinWork& work,
                                           const Candidate& candidate, const AxisValues& axes,
                                           const DeviceFacts& device, const Arch& arch,
                                           std::span<const KernelFacts> kernels);

}  // namespace ak::profiler

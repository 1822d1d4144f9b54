// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/build.h"
#include "core/device/device_facts.h"
#include "core/evaluation.h"

namespace ak::runtime {

/// Facts of a target nobody has here: the largest product of its compute capability, from data sheets.
[[nodiscard]] DeviceFacts nominal_device(const Arch& target);

/// Facts of the CPU device when it replaces `target`: the limits of that product.
[[nodiscard]] DeviceFacts emulated_device_facts(const Arch& target, int sm_count = 0);

/// The workloads a request asks for, smallest first by elements of all tensors; with no names, those that
/// suit the device: on the CPU device those of tier emulator, or all except deep ones where there are none (a
/// shape the user gave); else all except deep ones. Throws Error(usage) for an unknown name.
[[nodiscard]] std::vector<const Workload*> select_workloads(const ProblemInstance& problem,
                                                            const std::vector<std::string>& names,
                                                            DeviceKind device = DeviceKind::cuda);
/// Those that an evaluation of all times on the device: of the CPU device, where none is to be timed, the largest.
[[nodiscard]] std::vector<const Workload*> timed_workloads(const ProblemInstance& problem, DeviceKind device);

struct WorkloadPlan {
  const Workload* workload = nullptr;
  ResolvedPlan plan;
  bool timed = false;  ///< of role time, or chosen for costs
};

/// Chooses the largest workloads for costs where none is of role time: shapes to time a GPU with do not suit
/// the CPU device. @param plans smallest first.
void choose_for_costs(std::vector<WorkloadPlan>& plans);

/// The candidate's plan for every workload. Errors: invalid_candidate, with workload and field.
[[nodiscard]] Result<std::vector<WorkloadPlan>, Outcome> resolve_plans(
    const ProblemInstance& problem, const Candidate& candidate, const std::vector<const Workload*>& workloads,
    const Environment& device);

/// Compares arguments with the parameters PTX declares, so that a 32-bit value for a 64-bit parameter is an
/// invalid_candidate and never a wrong result.
[[nodiscard]] std::optional<Outcome> check_argument_types(const ResolvedPlan& plan, const BuildResult& build);

/// Threads, shared memory and registers of every launch against the target's limits: resource_exceeded.
[[nodiscard]] std::optional<Outcome> check_launch_resources(const ResolvedPlan& plan,
                                                            const BuildResult& build,
                                                            const ArchLimits& limits);

/// Most shared memory a block of any launch uses, static and dynamic, bytes.
[[nodiscard]] std::int64_t max_shared_bytes(const ResolvedPlan& plan, const BuildResult& build);

/// Occupancy of the first launch of a plan.
[[nodiscard]] std::optional<Occupancy> first_launch_occupancy(const ResolvedPlan& plan,
                                                              const BuildResult& build,
                                                              const ArchLimits& limits);

}  // namespace ak::runtime

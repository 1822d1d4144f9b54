// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/setup/assembler.h"
#include "core/evaluation.h"
#include "core/store.h"
#include "profiler/analysis/metric_catalog.h"
#include "profiler/analysis/profile_json.h"

namespace ak::app {

/// A kernel that was checked, timed, and profiled on one workload.
struct ProfiledKernel {
  EvaluationResult result;  ///< of the checks and times
  Profile profile;          ///< metrics by the catalogue's names
  std::vector<profiler::ProfiledLaunch> launches;
};

/// What limits each launch of a profile. @param result of the candidate's checks and times
[[nodiscard]] std::vector<profiler::ProfiledLaunch> judge_profile(
    const Profile& profile, const ProblemInstance& problem, const Candidate& candidate,
    const EvaluationResult& result, const DeviceFacts& device, const Arch& arch);

/// The CPU device's exact counts of one workload as a profile of the call as one launch; nothing where that
/// device did not count.
[[nodiscard]] std::optional<Profile> counted_profile(const ProblemInstance& problem,
                                                     const Candidate& candidate,
                                                     const EvaluationResult& result,
                                                     const std::string& workload, const DeviceFacts& device,
                                                     const Arch& arch);

/// The bottleneck of the launch that takes longest, its evidence and the first remedy, in a sentence; empty
/// when nothing was seen.
[[nodiscard]] std::string bottleneck_text(const std::string& workload,
                                          std::span<const profiler::ProfiledLaunch> launches);

struct ProfileOrder {
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  std::string workload;  ///< empty: the timed workload of the greatest weight
  std::vector<const profiler::MetricInfo*> metrics;
  bool sample_lines = true;
  std::string command;
  bool audited = false;
};

/// Evaluates the candidate, profiles it where it passed and the device runs it, analyses every launch, and
/// commits all of it as its own search. On the CPU device its exact counts are the profile. Throws
/// Error(usage) when the problem times no such workload.
[[nodiscard]] ProfiledKernel profile_kernel(const ProfileOrder& order, const Target& target,
                                            const Config& config, VariantStore& store);

}  // namespace ak::app

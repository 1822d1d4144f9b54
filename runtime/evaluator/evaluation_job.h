// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/problem_build.h"

namespace ak::runtime {

struct DeviceLine;

/// One evaluation on its way through the stages, and what they have found so far.
struct EvaluationJob {
  using TimePoint = std::chrono::steady_clock::time_point;

  Ticket ticket = 0;
  EvaluationRequest request;
  EvaluationResult result;
  std::size_t next_stage = 0;  ///< index in stages() of the stage that comes next
  TimePoint submitted = {};
  ProblemBuild* problem = nullptr;  ///< null: nothing runs on a device

  // From pre_check until the compile workers have them:
  TranslationUnit unit = {};
  std::optional<TranslationUnit> rival_unit = {};  ///< of request.rival

  // From build on; that of the candidate is in `result`:
  std::optional<BuildResult> rival_build = {};
  TimePoint built = {};

  // From resources on, smallest workload first:
  std::vector<WorkloadPlan> plans = {};
  std::vector<WorkloadPlan> rival_plans = {};  ///< of the same workloads, in the same order

  // On a device:
  TimePoint started = {};               ///< the epoch: not yet
  const DeviceLine* lost_on = nullptr;  ///< whose worker was lost with it: it goes to another, once
  std::string late = {};  ///< what did not finish in time when the program ran first: it runs again, once

  [[nodiscard]] bool wants_changing_inputs() const {
    return request.changing_inputs || request.fresh_process;
  }
  /// What is asked for is not a plain result, that another of the same program could stand for.
  [[nodiscard]] bool asks_its_own() const {
    return request.rival || !request.library.empty() || request.profile || !request.place.empty() ||
           wants_changing_inputs();
  }
  [[nodiscard]] bool is_built() const { return result.build && (!request.rival || rival_build); }
};

}  // namespace ak::runtime

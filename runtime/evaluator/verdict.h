// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/device/device_facts.h"
#include "runtime/evaluator/evaluation_job.h"

namespace ak::runtime {

// The stage `verdict`: what the times of a candidate that passed all checks come to.

/// `below_floor` where a cold time of the candidate is less than the GPU can need for the problem.
[[nodiscard]] std::optional<Outcome> faster_than_possible(const EvaluationJob& job,
                                                          const DeviceFacts& device);

/// The weighted geometric mean of the candidate's cold medians, ns; nothing where none was measured.
[[nodiscard]] std::optional<double> score_of(const EvaluationJob& job);

}  // namespace ak::runtime

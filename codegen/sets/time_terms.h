// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::codegen {

/// Amounts that the time of a candidate is a sum of, each with a factor of its own: the `time_terms` of its launch plan,
/// and where that has none what follows from its launches: waves of blocks, and the problem's operations and bytes.
[[nodiscard]] std::vector<Expression> time_terms(const ProblemInstance& problem, const Candidate& candidate);

/// Their values. Nothing where one has none, or is negative.
/// @param environment of a shape and the device; tunables and names of the plan are added here
[[nodiscard]] std::optional<std::vector<std::int64_t>> amounts_of(const std::vector<Expression>& terms,
                                                                  const Candidate& candidate,
                                                                  Environment environment);

}  // namespace ak::codegen

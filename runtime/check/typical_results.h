// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/result.h"
#include "runtime/check/data_set_builder.h"

namespace ak::runtime {

/// An output with fewer elements says too little of the scale of its problem's results and of the twin's errors: a
/// single element that the twin happens to hit would leave no tolerance at all (chosen: over 64 draws of a normal
/// error a root mean square is within a quarter of the truth).
inline constexpr std::int64_t kFewResults = 64;

/// An element of the exact result, and the twin's.
struct ResultPair {
  double exact = 0, twin = 0;
};

/// Of all finite `pairs`; zeros where there are none.
[[nodiscard]] TypicalResult typical_result(std::span<const ResultPair> pairs);

/// Whether an output of `workload` is judged by what is typical of it: floating values, compared as they are on the
/// tensor's scale, fewer than kFewResults.
[[nodiscard]] bool has_few_results(const OpenProblem& problem, const WorkloadLayout& workload);

/// One for each reference of `builder`'s data, in order; zeros for outputs with enough elements of their own. Draws
/// contents of fixed seeds into the builder's memory and computes references on them: the same numbers every time.
/// Errors: as of DataSetBuilder::make_references(). Throws CudaError.
[[nodiscard]] Result<std::vector<TypicalResult>, Outcome> typical_results(const OpenProblem& problem,
                                                                          DataSetBuilder& builder);

}  // namespace ak::runtime

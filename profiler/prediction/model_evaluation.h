// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/prediction/time_model.h"

namespace ak::profiler {

/// Predictions of calls by models that have not seen them: one time each, in the order of the calls.
using HeldOutTimes = std::vector<double>;

/// What is left out together, by call: algorithms, or one of five parts of the variants of every space.
using Groups = std::vector<std::string>;
[[nodiscard]] Groups algorithms_of(const std::vector<MeasuredCall>& calls);
[[nodiscard]] Groups fifths_of(const std::vector<MeasuredCall>& calls);

/// Leaves out one algorithm after the other.
[[nodiscard]] HeldOutTimes leave_one_algorithm_out(const std::vector<MeasuredCall>& calls,
                                                   Knowledge knowledge);
/// Leaves out a fifth of the variants of every space after the other.
[[nodiscard]] HeldOutTimes leave_variants_out(const std::vector<MeasuredCall>& calls, Knowledge knowledge);
/// The analytic times alone.
[[nodiscard]] HeldOutTimes analytic_only(const std::vector<MeasuredCall>& calls, Knowledge knowledge);

/// Errors of held-out predictions. An error is |predicted - measured| / measured, of calls within ten times
/// the best measured of their workload.
struct Accuracy {
  std::size_t calls = 0, spaces = 0;
  double mean_error = 0, median_error = 0;
  /// Spearman's, of variants of one space and workload; mean and median over those with at least 8 variants.
  double rank_correlation = 0, median_rank_correlation = 0;
  std::map<std::string, double> error_by_algorithm;  ///< mean
  TimeModel::Errors errors;                          ///< quantiles for intervals
};
[[nodiscard]] Accuracy accuracy_of(const std::vector<MeasuredCall>& calls, const HeldOutTimes& predicted);

/// Share of the calls within ten times the best of their workload whose measured time lies in an interval that was made
/// without them: from the errors of the other groups. Of all groups, and of each.
struct Coverage {
  double share = 0;
  std::map<std::string, double> by_group;
};
[[nodiscard]] Coverage interval_coverage(const std::vector<MeasuredCall>& calls,
                                         const HeldOutTimes& predicted, const Groups& groups);

/// What pruning loses: of random halves of a space the half that is predicted worst is not measured; regret
/// is the best of the rest over the best of the random half, less 1, by score over the workloads.
struct PruningRegret {
  std::size_t spaces = 0;                           ///< those with at least 8 variants
  int subsets = 0;                                  ///< of each space
  double median = 0, p95 = 0, worst = 0, mean = 0;  ///< of all subsets of all spaces
  std::map<std::string, double> p95_by_space;
};
[[nodiscard]] PruningRegret pruning_regret(const std::vector<MeasuredCall>& calls,
                                           const HeldOutTimes& predicted, int subsets = 200);

[[nodiscard]] Json to_json(const Accuracy& accuracy);
[[nodiscard]] Json to_json(const Coverage& coverage);
[[nodiscard]] Json to_json(const PruningRegret& regret);

}  // namespace ak::profiler

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/plan/problem.h"

namespace ak::app {

/// What a precision costs before any kernel: its inputs and its results are rounded. Against the exact results on the
/// inputs of the widest precision, relative as all errors are (docs/checking.md).
struct PrecisionErrors {
  double inputs = 0;                ///< of exact results on rounded inputs
  double rounded = 0;               ///< of those, rounded once to the output's dtype: no kernel is better
  std::string worst = {};           ///< distribution under which `rounded` is so large
  int compared = 0, data_sets = 0;  ///< the others draw inputs that are not the rounded ones of the widest
};

/// Of inputs that come in every precision as they are: nothing is lost by rounding them.
inline constexpr std::string_view kNoDistribution = "none";

/// Why errors of this problem are not of the kind that can be bounded; empty where they are.
[[nodiscard]] std::string why_no_errors(const ProblemInstance& problem);

/// Compares folders of dump_exact_results(), which are of one problem and one seed.
/// @param precise that of the widest precision
/// @param inputs_like the distributions that count; all where it is empty. kNoDistribution: all, against the results on
/// the rounded inputs themselves
[[nodiscard]] PrecisionErrors precision_errors(const std::filesystem::path& folder,
                                               const std::filesystem::path& precise,
                                               const Tolerance& tolerance,
                                               const std::vector<std::string>& inputs_like);

/// Inputs and exact results of the problem's small workloads under every distribution (runtime/check/data_dump.h).
/// Blocks. Throws Error(bad_input) where the reference fails.
void dump_exact_results(const std::shared_ptr<const ProblemInstance>& problem, const Target& target,
                        const Config& config, std::uint64_t seed, const std::filesystem::path& folder);

/// The error that a kernel may have against the exact results on its own, rounded inputs, so that its error against those
/// on the widest inputs is at most `max_error`. Not above 0: none may have.
[[nodiscard]] double left_for_kernels(double max_error, const PrecisionErrors& errors);

}  // namespace ak::app

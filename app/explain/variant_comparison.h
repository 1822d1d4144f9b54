// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/paired_comparison.h"
#include "app/explain/explanation.h"

namespace ak::app {

/// Two values of something that the kernels differ in.
struct Difference {
  std::string name, first, second;
};

/// Two numbers of something that was counted of both.
struct CounterDifference {
  std::string workload, name, unit;
  double first = 0, second = 0;
};

struct TimeComparison {
  std::string workload;
  const Measurement* first = nullptr;  ///< of the kernels that were compared
  const Measurement* second = nullptr;
};

/// What two kernels for one problem differ in, and why one is faster as far as evidence goes.
struct VariantComparison {
  std::string basis;  ///< what the ratio is by: "pairs", "medians", "estimated costs"; empty: there is none
  std::optional<double> ratio;  ///< time of the second over that of the first
  std::optional<agent::PairedVerdict> pairs;
  std::vector<TimeComparison> times;
  std::string source;  ///< a unified diff, short; empty: the same text
  std::vector<Difference> tunables, launches, resources;
  std::vector<CounterDifference> counters;  ///< the largest relative differences first; a few
  std::vector<std::string> bottlenecks[2];  ///< of each kernel, a sentence a shape
  std::string why;                          ///< in words
};

/// @param first,second must outlive the result
[[nodiscard]] VariantComparison compare_variants(const std::filesystem::path& database,
                                                 const StoredKernel& first, const StoredKernel& second);

[[nodiscard]] std::string comparison_text(const VariantComparison& comparison, const StoredKernel& first,
                                          const StoredKernel& second);
[[nodiscard]] Json comparison_json(const VariantComparison& comparison, const StoredKernel& first,
                                   const StoredKernel& second);

}  // namespace ak::app

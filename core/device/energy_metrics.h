// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/evaluation.h"

namespace ak {

/// A figure of a measured energy: "energy/joule" and similar ones, as the database and reports name them.
struct EnergyMetric {
  std::string_view name, unit;
  double value;
};
/// Energy of a call, average power, wall time of a call, and the problem's work for a joule. Empty when the
/// energy was not measured; without the work where its formulas give none.
[[nodiscard]] std::vector<EnergyMetric> energy_metrics(const ProblemInstance& problem,
                                                       const Measurement& measurement);

/// "12.3 mJ a call at 512 W on workload w (...)", or why there is no figure; empty when no one asked.
[[nodiscard]] std::string energy_text(const ProblemInstance& problem, const EvaluationResult& result);

}  // namespace ak

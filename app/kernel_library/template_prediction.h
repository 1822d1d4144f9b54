// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "profiler/prediction/model_file.h"

namespace ak::app {

/// A point of a template, with the time that is predicted for it.
struct PredictedPoint {
  std::string file;  ///< of the template
  TunableValues tunables;
  profiler::Prediction prediction;
};

/// Where templates run.
struct PredictionPlace {
  DeviceFacts device;
  Arch arch;  ///< target of the compiler
  const profiler::FittedModels& models;
};

/// The point of a problem's templates with the least predicted time, for its one workload; nothing where no template has
/// a point that is valid there. Of templates that the model knows, points near the default are compared; of others the
/// default alone counts, since the model knows too little to order their points (docs/prediction.md).
/// @param more points to try besides, such as those that are best for another shape, by the template's name
[[nodiscard]] std::optional<PredictedPoint> predicted_best(
    const ProblemInstance& problem, const PredictionPlace& place,
    const std::vector<std::pair<std::string, TunableValues>>& more);

}  // namespace ak::app

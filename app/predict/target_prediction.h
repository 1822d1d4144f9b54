// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "app/setup/config.h"
#include "core/predictor.h"

namespace ak::app {

/// What ranks the candidates of a search on the CPU device.
struct TargetModel {
  std::unique_ptr<TargetPredictor> predictor;  ///< null: their costs do
  std::string basis;  ///< "predicted by sm_90a_h200 ...", or why costs rank; for people
};

/// The model of the target's times, of the shapes of `problem` that a GPU would time (docs/prediction.md). Throws as
/// models_of_target() does.
[[nodiscard]] TargetModel make_target_predictor(const ProblemInstance& problem, const Arch& arch,
                                                const Config& config);

/// "183.9 us (171.2 us to 196.9 us)".
[[nodiscard]] std::string predicted_text(const PredictedScore& predicted);

/// {"score_ns", "low_ns", "high_ns", "model", "note": "predicted, not measured", "workloads": [...]}.
[[nodiscard]] Json to_json(const PredictedScore& predicted);

}  // namespace ak::app

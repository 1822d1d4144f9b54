// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/evaluation.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/prediction.h"

namespace ak {

/// Predicts a candidate's times on a device, before anything is compiled or run. Used by one thread.
class Predictor {
 public:
  virtual ~Predictor() = default;
  /// The score over the timed workloads, or nothing where the model has no basis.
  [[nodiscard]] virtual std::optional<PredictedScore> predict(const ProblemInstance& problem,
                                                              const Candidate& candidate) const = 0;
};

/// Predicts a candidate's times on a GPU that is not here from what an evaluation elsewhere found of it: its
/// build, and exact counts. Used by one thread.
class TargetPredictor {
 public:
  virtual ~TargetPredictor() = default;
  /// The score over the shapes that a GPU would time; nothing where the candidate did not pass, or its plan has
  /// no value for one of them.
  [[nodiscard]] virtual std::optional<PredictedScore> predict(const Completed& completed) const = 0;
  /// Whether scores that name this model (PredictedScore::model) may be ranked with those of this one.
  [[nodiscard]] virtual bool ranks_with(std::string_view model) const = 0;
};

}  // namespace ak

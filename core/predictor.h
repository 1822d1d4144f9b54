// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

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

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "core/plan/candidate.h"
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

/// Lessons from earlier work, retrieved for a prompt.
class KnowledgeStore {
 public:
  virtual ~KnowledgeStore() = default;
  [[nodiscard]] virtual std::vector<std::string> lessons(const ProblemInstance& problem, const Arch& arch,
                                                         std::size_t limit) const = 0;
};

/// One step of an evaluation, contributed by runtime or profiler. Stages run in the order of StageId.
class Stage {
 public:
  virtual ~Stage() = default;
  [[nodiscard]] virtual StageId id() const = 0;
  /// Works on `result`; a returned Outcome ends the evaluation, nothing lets the next stage run.
  virtual std::optional<Outcome> run(const EvaluationRequest& request, EvaluationResult& result) = 0;
};

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "profiler/prediction/model_evaluation.h"

namespace ak::profiler {

/// What `alphakernel model fit` leaves: models of one target, one for each kind of knowledge, and what they
/// rest on. A JSON file (docs/prediction.md).
struct FittedModels {
  std::string arch;    ///< target, e.g. "sm_90a"
  DeviceFacts device;  ///< where the training set was measured
  Json training;       ///< databases, algorithms, calls, variants
  std::map<Knowledge, TimeModel> models = {};
  std::map<Knowledge, Json> accuracy = {};  ///< by `evaluate_model`

  /// Of the models that need no more than what is known of the call, the one whose held-out error was least:
  /// on variants left out where its plan was measured, on algorithms left out elsewhere.
  [[nodiscard]] const TimeModel& model_for(const CallFacts& facts) const;
};

/// Held-out predictions: their accuracy ("analytic", "new_algorithm", "known_space"), how many of the measured times
/// lie in their intervals, what pruning by them loses, and the times themselves.
struct ModelReport {
  Accuracy analytic, new_algorithm, known_space;
  Coverage coverage_new_algorithm, coverage_known_space;
  HeldOutTimes analytic_ns = {}, new_algorithm_ns = {}, known_space_ns = {};
  PruningRegret regret_new_algorithm, regret_known_space;
};
[[nodiscard]] ModelReport evaluate_model(const std::vector<MeasuredCall>& calls, Knowledge knowledge);
[[nodiscard]] Json to_json(const ModelReport& report);

/// Those of `calls` of which at least `knowledge` is known; none when they are too few to learn from (200).
[[nodiscard]] std::vector<MeasuredCall> calls_with(const std::vector<MeasuredCall>& calls,
                                                   Knowledge knowledge);

/// Fits a model of every kind of knowledge that `calls` have, with intervals from held-out errors.
[[nodiscard]] FittedModels fit_models(const std::vector<MeasuredCall>& calls, const std::string& arch);

void write_models(const std::filesystem::path& file, const FittedModels& models);  ///< atomically
/// Throws Error(bad_input) naming the file and what was expected.
[[nodiscard]] FittedModels read_models(const std::filesystem::path& file);

}  // namespace ak::profiler

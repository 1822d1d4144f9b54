// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/setup/config.h"
#include "core/plan/problem.h"
#include "profiler/prediction/time_model.h"

namespace ak::app {

struct PredictionOrder {
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  std::string device = "sm_90a";  ///< a product of the device catalogue, or an architecture
  std::string model = {};         ///< name or file; empty: that of the target (models_of_target)
  bool count = true;              ///< what it does on reduced shapes, on the CPU device: slower, more exact
};

struct PredictedWorkload {
  const Workload* workload;  ///< of PredictedKernel::problem
  profiler::Prediction prediction;
  std::optional<double> count_check;  ///< how far counts are from growing as assumed, ratio
  std::optional<double> measured_ns;  ///< of the same variant, from the database
};

struct PredictedKernel {
  std::shared_ptr<const ProblemInstance> problem;
  Arch arch;               ///< target
  DeviceFacts device;      ///< whose rates were taken
  std::string note;        ///< why less is known than was asked for; empty: nothing is missing
  std::string model = {};  ///< name of the model; empty: there is none
  Json training;           ///< what the model was fitted to; null: there is none
  std::vector<PredictedWorkload> workloads;
};

/// Predicts the times of the problem's timed workloads. A product that was named has its own rates, also where the
/// model that corrects them was fitted on another one: the note says so. Blocks. Throws Error(bad_input) when the
/// candidate cannot be built, Error(usage) when nobody knows the device, the problem times nothing or the model is for
/// another target.
[[nodiscard]] PredictedKernel predict_kernel(const PredictionOrder& order, const Config& config,
                                             const std::filesystem::path& database);

[[nodiscard]] Json to_json(const PredictedKernel& predicted);

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#include "app/predict/time_prediction.h"

#include "app/predict/predicted_score.h"
#include "app/predict/time_models.h"

namespace ak::app {
namespace {

class PlanPredictor final : public Predictor {
 public:
  PlanPredictor(const NamedModels& named, const Arch& arch, const DeviceFacts& device)
      : model_(named.models.models.at(profiler::Knowledge::plan)),
        name_(named.identity() + " plan"),
        arch_(arch),
        device_(device) {}

  std::optional<PredictedScore> predict(const ProblemInstance& problem,
                                        const Candidate& candidate) const override {
    std::vector<PredictedTime> times;
    std::vector<double> weights;
    for (const Workload& workload : problem.workloads) {
      if (!workload.has(WorkloadRole::time)) continue;
      const auto facts = profiler::call_facts(problem, profiler::min_work(problem, workload), candidate,
                                              workload.axes, device_, arch_, {});
      if (!facts) return std::nullopt;
      const profiler::Prediction time = model_.predict(*facts, device_);
      // Of another file the model knows too little to order points (docs/prediction.md).
      if (!time.known_space) return std::nullopt;
      weights.push_back(workload.weight);
      times.push_back({.workload = workload.name,
                       .time = Nanoseconds(time.time_ns),
                       .low = Nanoseconds(time.low_ns),
                       .high = Nanoseconds(time.high_ns),
                       .limiter = std::string(time.analytic.limiter())});
    }
    return predicted_score(name_, std::move(times), weights);
  }

 private:
  const profiler::TimeModel model_;
  const std::string name_;
  const Arch arch_;
  const DeviceFacts device_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(const Arch& arch, const DeviceFacts& device, const Config& config) {
  const auto chosen = chosen_models(arch.sm(), config);
  if (!chosen) return nullptr;
  return std::make_unique<PlanPredictor>(*chosen, arch, device);
}

}  // namespace ak::app

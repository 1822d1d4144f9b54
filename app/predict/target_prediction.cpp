// SPDX-License-Identifier: Apache-2.0
#include "app/predict/target_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/evaluate/figure_texts.h"
#include "app/predict/predicted_score.h"
#include "app/predict/predicted_shapes.h"
#include "app/predict/time_models.h"
#include "profiler/prediction/count_extrapolation.h"

namespace ak::app {
namespace {

using profiler::CallFacts;
using profiler::CountedCall;

// Past this counted shapes leave open what they grow to: as far off as intervals of unknown plans are wide.
constexpr double kMaxAmbiguity = 0.25;

/// Widths of vector accesses depend on what sizes are divisible by, up to this many elements.
constexpr std::int64_t kWidestVector = 16;

bool same_remainders(const AxisValues& a, const AxisValues& b) {
  const auto divisor = [](std::int64_t size) { return std::min(size & -size, kWidestVector); };
  return std::ranges::equal(a, b, [&](const auto& x, const auto& y) {
    return x.first == y.first && divisor(x.second) == divisor(y.second);
  });
}

class CountedPredictor final : public TargetPredictor {
 public:
  explicit CountedPredictor(NamedModels named) : named_(std::move(named)) {}

  std::optional<PredictedScore> predict(const Completed& completed) const override {
    std::string model;
    std::vector<PredictedTime> times;
    std::vector<double> weights;
    for (const Workload* workload : predicted_shapes(*completed.request.problem)) {
      const auto time = predict(completed, *workload);
      if (!time) return std::nullopt;
      model = fmt::format("{} {}", named_.identity(), to_string(time->knowledge));
      times.push_back({.workload = workload->name,
                       .time = Nanoseconds(time->time_ns),
                       .low = Nanoseconds(time->low_ns),
                       .high = Nanoseconds(time->high_ns),
                       .limiter = std::string(time->analytic.limiter())});
      weights.push_back(workload->weight);
    }
    return predicted_score(std::move(model), std::move(times), weights);
  }

  bool ranks_with(std::string_view model) const override {
    return model.starts_with(named_.identity() + " ");  // whatever it knew of the call
  }

 private:
  [[nodiscard]] std::optional<CallFacts> facts_of(const Completed& completed,
                                                  const Workload& workload) const {
    const EvaluationRequest& request = completed.request;
    const auto& build = completed.result.build;
    auto facts = profiler::call_facts(*request.problem, profiler::min_work(*request.problem, workload),
                                      request.candidate, workload.axes, named_.models.device, request.arch,
                                      build ? build->kernels : std::vector<KernelFacts>{});
    return facts ? std::optional(std::move(facts).value()) : std::nullopt;
  }

  /// What the CPU device counted on shapes that take the same paths as `target`.
  [[nodiscard]] std::vector<CountedCall> counted(const Completed& completed, const Workload& target) const {
    std::vector<CountedCall> calls;
    for (const Measurement& m : completed.result.measurements) {
      if (m.role != MeasurementRole::candidate || m.counts.empty()) continue;
      const auto& shapes = completed.request.problem->workloads;
      const auto shape = std::ranges::find(shapes, m.workload, &Workload::name);
      if (shape == shapes.end() || !same_remainders(shape->axes, target.axes)) continue;
      if (auto facts = facts_of(completed, *shape)) calls.push_back({std::move(*facts), m.counts});
    }
    return calls;
  }

  [[nodiscard]] std::optional<profiler::Prediction> predict(const Completed& completed,
                                                            const Workload& workload) const {
    auto facts = facts_of(completed, workload);
    if (!facts) return std::nullopt;
    auto grown = profiler::extrapolate_counts(counted(completed, workload), *facts);
    if (grown && grown->ambiguity <= kMaxAmbiguity) {
      facts->counts = std::move(grown->counts);
      facts->knowledge = profiler::Knowledge::count;
    }
    return named_.models.model_for(*facts).predict(*facts, named_.models.device);
  }

  const NamedModels named_;
};

}  // namespace

TargetModel make_target_predictor(const ProblemInstance& problem, const Arch& arch, const Config& config) {
  if (predicted_shapes(problem).empty())
    return {
        .predictor = nullptr,
        .basis = fmt::format("{} times no shape on a GPU, so candidates are ranked by their costs on the CPU "
                             "device",
                             problem.definition.name)};
  auto named = models_of_target(arch.sm(), config);
  if (!named)
    return {.predictor = nullptr,
            .basis = fmt::format(
                "there is no time model of {}, so candidates are ranked by their costs on the CPU "
                "device (alphakernel model fit makes one from measurements)",
                arch.sm())};
  std::string basis =
      fmt::format("candidates are ranked by times that {} predicts for {}: predicted, not measured",
                  named->name, named->models.device.name);
  return {.predictor = std::make_unique<CountedPredictor>(std::move(*named)), .basis = std::move(basis)};
}

std::string predicted_text(const PredictedScore& predicted) {
  return fmt::format("{} ({} to {})", format_ns(predicted.score.value()), format_ns(predicted.low.value()),
                     format_ns(predicted.high.value()));
}

Json to_json(const PredictedScore& predicted) {
  Json shapes = Json::array();
  for (const PredictedTime& time : predicted.times)
    shapes.push_back({{"workload", time.workload},
                      {"predicted_ns", time.time.value()},
                      {"low_ns", time.low.value()},
                      {"high_ns", time.high.value()},
                      {"limiter", time.limiter}});
  return {{"note", "predicted, not measured"},   {"model", predicted.model},
          {"score_ns", predicted.score.value()}, {"low_ns", predicted.low.value()},
          {"high_ns", predicted.high.value()},   {"workloads", std::move(shapes)}};
}

}  // namespace ak::app

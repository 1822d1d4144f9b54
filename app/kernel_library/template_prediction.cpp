// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/template_prediction.h"

#include <algorithm>

#include "core/tuning/plan_space.h"
#include "profiler/prediction/call_facts.h"

namespace ak::app {
namespace {

// A walk over the tunables, one at a time, ends when a round over all of them changes nothing: as a rule in the second.
constexpr int kMostRounds = 3;  // chosen

/// One template for one shape.
class ShapedTemplate {
 public:
  ShapedTemplate(const ProblemInstance& problem, const PredictionPlace& place, Candidate candidate)
      : problem_(problem),
        place_(place),
        workload_(problem.workloads.front()),
        work_(profiler::min_work(problem, workload_)),
        candidate_(std::move(candidate)),
        environment_(problem.environment(workload_.axes)) {
    environment_.merge(device_environment(place.device, place.arch));
  }

  /// Nothing where the point is not valid for the shape.
  [[nodiscard]] std::optional<PredictedPoint> at(const TunableValues& tunables) {
    if (!has_point(candidate_.plan, environment_, tunables)) return std::nullopt;
    candidate_.tunables = tunables;
    const auto call =
        profiler::call_facts(problem_, work_, candidate_, workload_.axes, place_.device, place_.arch, {});
    if (!call) return std::nullopt;
    for (const profiler::LaunchFacts& launch : call->launches)
      if (launch.planned_shared_bytes > static_cast<double>(place_.device.shared_bytes_per_block))
        return std::nullopt;
    const profiler::FittedModels& models = place_.models;
    return PredictedPoint{.file = candidate_.name,
                          .tunables = tunables,
                          .prediction = models.models.empty()
                                            ? profiler::TimeModel().predict(*call, place_.device)
                                            : models.model_for(*call).predict(*call, place_.device)};
  }

  /// The default point, else the valid one nearest to it.
  [[nodiscard]] std::optional<PredictedPoint> first() {
    if (auto found = at(candidate_.tunables)) return found;
    const TunableValues defaults = candidate_.tunables;
    const Result<TunableSpace> space = plan_space(candidate_.plan, environment_);
    if (!space) return std::nullopt;
    for (const TunableValues& point : nearest_points(*space, defaults, 1)) return at(point);
    return std::nullopt;
  }

  /// Changes one tunable after the other as long as that is predicted to help.
  [[nodiscard]] PredictedPoint improved(PredictedPoint best) {
    for (int round = 0; round < kMostRounds; ++round) {
      const TunableValues before = best.tunables;
      for (const Tunable& tunable : candidate_.plan.tunables) best = improved_along(std::move(best), tunable);
      if (best.tunables == before) break;
    }
    return best;
  }

 private:
  PredictedPoint improved_along(PredictedPoint best, const Tunable& tunable) {
    TunableValues point = best.tunables;
    for (const std::int64_t value : tunable.values) {
      point[tunable.name] = value;
      auto other = at(point);
      if (other && other->prediction.time_ns < best.prediction.time_ns) best = std::move(*other);
    }
    return best;
  }

  const ProblemInstance& problem_;
  const PredictionPlace& place_;
  const Workload& workload_;
  const profiler::MinWork work_;
  Candidate candidate_;
  Environment environment_;
};

}  // namespace

std::optional<PredictedPoint> predicted_best(const ProblemInstance& problem, const PredictionPlace& place,
                                             const std::vector<std::pair<std::string, TunableValues>>& more) {
  std::optional<PredictedPoint> best;
  const auto take = [&](std::optional<PredictedPoint> point) {
    if (point && (!best || point->prediction.time_ns < best->prediction.time_ns)) best = std::move(point);
  };
  for (const CandidateFile& file : problem.templates) {
    Result<Candidate> candidate = parse_candidate(file.name, file.source);
    if (!candidate) continue;  // `alphakernel problem check` says what is wrong with it
    ShapedTemplate shaped(problem, place, std::move(candidate).value());
    auto first = shaped.first();
    if (first && first->prediction.known_space) first = shaped.improved(std::move(*first));
    take(std::move(first));
    for (const auto& [name, point] : more)
      if (name == file.name) take(shaped.at(point));
  }
  return best;
}

}  // namespace ak::app

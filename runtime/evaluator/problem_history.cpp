// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/problem_history.h"

#include <iterator>
#include <utility>

namespace ak::runtime {
namespace {

template <typename T>
void move_to_end(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

/// @param one,other as EvaluationResult::device
bool same_device(const std::shared_ptr<const DeviceFacts>& one,
                 const std::shared_ptr<const DeviceFacts>& other, bool same_place) {
  if (!one || !other) return one == other;
  return one->uuid == other->uuid && (same_place || !one->uuid.empty());
}

}  // namespace

void ProblemHistory::keep_baselines(DeviceAnswer answer, std::shared_ptr<const DeviceFacts> device,
                                    const std::string& place) {
  if (answer.outcome.status == Status::infrastructure_error && !std::exchange(baseline_lost_, true)) {
    baseline_timed_ = false;  // once more
    return;
  }
  baselines_from_ = std::move(device);
  baselines_place_ = place;
  baselines_ = std::move(answer.measurements);
  if (answer.outcome.status == Status::ok) notes_ = std::move(answer.outcome.diagnostics);
}

void ProblemHistory::hand_over_baselines(EvaluationResult& result) {
  if (!same_device(baselines_from_, result.device, baselines_place_ == result.place)) return;
  move_to_end(baselines_, result.measurements);
  move_to_end(notes_, result.outcome.diagnostics);
}

void ProblemHistory::note_score(const EvaluationResult& result) {
  if (best_score_ns_ && *best_score_ns_ <= *result.score_ns) return;
  best_score_ns_ = result.score_ns;
  best_medians_ns_.clear();
  for (const Measurement& measurement : result.measurements)
    if (measurement.role == MeasurementRole::candidate && measurement.cold)
      best_medians_ns_[measurement.workload] = measurement.median_ns;
}

std::optional<double> ProblemHistory::share_ns(double champion_score_ns, const std::string& workload) const {
  const auto best = best_medians_ns_.find(workload);
  if (!best_score_ns_ || best == best_medians_ns_.end()) return std::nullopt;
  return best->second * champion_score_ns / *best_score_ns_;
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {

/// What the evaluations of a problem have shown so far: the times of its baselines, which go along with the
/// first result that is timed, and its best result. One thread.
class ProblemHistory {
 public:
  [[nodiscard]] bool baseline_timed() const { return baseline_timed_; }
  /// Whether the baselines need not be timed any more.
  void set_baseline_timed(bool timed) { baseline_timed_ = timed; }
  /// A reference too slow or too large to time leaves no baseline; the candidates' checks will say
  /// what is wrong. Where the answer was lost with the device's process, they are timed once more.
  /// @param device,place as in EvaluationResult
  void keep_baselines(DeviceAnswer answer, std::shared_ptr<const DeviceFacts> device,
                      const std::string& place = "");
  /// Appends what is kept of the baselines to a result of the same device: measurements, and notes on them.
  void hand_over_baselines(EvaluationResult& result);

  /// @param result with a score
  void note_score(const EvaluationResult& result);
  /// The time on `workload` of a champion that is known by its score: its share is taken from the best result
  /// seen here, scaled to that score. Nothing where none was seen.
  [[nodiscard]] std::optional<double> share_ns(double champion_score_ns, const std::string& workload) const;

 private:
  bool baseline_timed_ = false, baseline_lost_ = false;
  std::shared_ptr<const DeviceFacts> baselines_from_;
  std::string baselines_place_;
  std::vector<Measurement> baselines_;
  std::vector<Diagnostic> notes_;
  std::optional<double> best_score_ns_;
  std::map<std::string, double> best_medians_ns_;  ///< by workload
};

using ProblemHistories = std::map<const ProblemInstance*, ProblemHistory>;

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/known_programs.h"

namespace ak::runtime {

void KnownPrograms::remember(const std::string& candidate, const EvaluationResult& result) {
  const auto [entry, added] = known_.try_emplace(result.program);
  entry->second = {.name = candidate,
                   .measurements = result.measurements,
                   .score_ns = result.score_ns,
                   .device = result.device,
                   .place = result.place};
  for (Measurement& measurement : entry->second.measurements) measurement.line_counts.clear();
  if (!added) return;
  order_.push_back(result.program);
  if (order_.size() <= kKept) return;
  known_.erase(order_.front());
  order_.pop_front();
}

const KnownPrograms::Known* KnownPrograms::find(const std::string& program) const {
  const auto found = known_.find(program);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace ak::runtime

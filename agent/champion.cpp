// SPDX-License-Identifier: Apache-2.0
#include "agent/champion.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/stats.h"

namespace ak::agent {
namespace {

constexpr double kLeastGain = 0.005;  // below this, timer resolution and clock drift decide (docs/search.md)

double weight_of(const ProblemInstance& problem, std::string_view workload) {
  const auto found = std::ranges::find(problem.workloads, workload, &Workload::name);
  return found == problem.workloads.end() ? 1 : found->weight;
}

/// Interval of the score: weighted geometric means of the interval bounds. Just the score where no workload
/// has one.
Interval score_interval(const Completed& completed) {
  std::vector<double> lows, highs, weights;
  std::set<std::string_view> seen;  // the first timing of a workload is the one in the score
  for (const Measurement& m : completed.result.measurements) {
    if (m.role != MeasurementRole::candidate || m.ci_low_ns <= 0 || m.ci_high_ns <= 0) continue;
    if (!seen.insert(m.workload).second) continue;
    lows.push_back(m.ci_low_ns);
    highs.push_back(m.ci_high_ns);
    weights.push_back(weight_of(*completed.request.problem, m.workload));
  }
  if (lows.empty()) return {*completed.result.score_ns, *completed.result.score_ns};
  return {weighted_geometric_mean(lows, weights), weighted_geometric_mean(highs, weights)};
}

bool faster(const Completed& challenger, const Completed& champion) {
  if (!champion.result.score_ns) return challenger.result.score_ns.has_value();
  if (!challenger.result.score_ns) return false;
  if (*challenger.result.score_ns > *champion.result.score_ns * (1 - kLeastGain)) return false;
  return score_interval(challenger).high < score_interval(champion).low;
}

/// Sorts better builds first.
std::tuple<bool, double, int> build_rank(const EvaluationResult& result) {
  bool spills = false;
  int registers = 0;
  if (result.build) {
    for (const KernelFacts& kernel : result.build->kernels) {
      spills = spills || kernel.spill_store_bytes > 0 || kernel.spill_load_bytes > 0;
      registers = std::max(registers, kernel.registers);
    }
  }
  return {spills, result.occupancy ? -result.occupancy->ratio : 0, registers};
}

bool checks_passed(const EvaluationResult& result) {
  return !result.checks.empty() && std::ranges::all_of(result.checks, &CheckRecord::passed);
}

bool duplicate_of_passed(const EvaluationResult& result, Depth depth) {
  if (depth == Depth::time) return result.score_ns.has_value();
  if (depth == Depth::check) return checks_passed(result);
  return result.build && result.build->outcome.status == Status::ok;
}

}  // namespace

bool passed(const EvaluationResult& result, Depth depth) {
  if (result.outcome.status == Status::duplicate) return duplicate_of_passed(result, depth);
  if (result.outcome.status == Status::compiled_only) return depth == Depth::build;
  return result.outcome.status == Status::ok;
}

bool Champion::beats(const Completed& challenger, int iteration) const {
  if (!best_) return true;
  if (depth_ == Depth::check) return false;
  if (depth_ == Depth::time) return faster(challenger, best_->completed);
  return std::tuple(build_rank(challenger.result), iteration) <
         std::tuple(build_rank(best_->completed.result), best_->iteration);
}

bool Champion::offer(const Completed& challenger, int iteration, RowId variant) {
  if (!passed(challenger.result, depth_)) return false;
  const Entry entry{challenger, iteration, variant};
  keep(entry);
  if (!beats(challenger, iteration)) return false;
  best_ = entry;
  return true;
}

bool Champion::lower_score(const Entry& a, const Entry& b) {
  const auto rank = [](const Entry& entry) {
    return std::tuple(entry.completed.result.score_ns.value_or(std::numeric_limits<double>::infinity()),
                      entry.iteration);
  };
  return rank(a) < rank(b);
}

void Champion::keep(const Entry& entry) {
  ranking_.insert(std::ranges::upper_bound(ranking_, entry, lower_score), entry);
  const auto same = [&](const Entry& other) {
    return other.completed.request.candidate.name == entry.completed.request.candidate.name;
  };
  if (std::ranges::count_if(ranking_, same) <= kKeptOfTemplate) return;
  ranking_.erase(std::prev(std::find_if(ranking_.rbegin(), ranking_.rend(), same).base()));
}

void Champion::disqualify() {
  AK_ASSERT(best_, "only a champion can be disqualified");
  std::erase_if(ranking_, [&](const Entry& entry) { return entry.iteration == best_->iteration; });
  best_.reset();
  if (!ranking_.empty()) best_ = ranking_.front();
}

std::optional<RowId> Champion::variant() const {
  return best_ ? std::optional(best_->variant) : std::nullopt;
}

std::optional<double> Champion::score_ns() const {
  return best_ ? best_->completed.result.score_ns : std::nullopt;
}

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#include "agent/champion.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"

namespace ak::agent {
namespace {

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

bool Champion::seems_faster(const Entry& entry) const {
  const std::optional<double>& score_ns = entry.completed.result.score_ns;
  return score_ns && (!score_ns_ || *score_ns <= *score_ns_ * (1 - kMinGain));
}

/// It leads, or has lost against who leads or led.
bool Champion::is_settled(const Entry& entry) const {
  return beaten_.contains(entry.iteration) || (best_ && entry.iteration == best_->iteration);
}

/// The 95 % interval of its time reaches below the champion's.
bool Champion::may_be_faster(const Entry& entry) const {
  const EvaluationResult& result = entry.completed.result;
  if (!result.score_ns || !score_ns_ || result.outcome.status == Status::duplicate) return false;
  double low = 1;  // of its time
  for (const Measurement& measurement : result.measurements)
    if (measurement.role == MeasurementRole::candidate && measurement.median_ns > 0 &&
        measurement.ci_low_ns > 0)
      low = std::min(low, measurement.ci_low_ns / measurement.median_ns);
  return *result.score_ns * low < *score_ns_;
}

bool Champion::beats(const Entry& entry) const {
  if (!best_) return true;
  if (depth_ == Depth::check) return false;
  if (ranking_.front().predicted) return first_of_ranking().iteration != best_->iteration;
  if (depth_ == Depth::time) return seems_faster(entry);
  return std::tuple(build_rank(entry.completed.result), entry.iteration) <
         std::tuple(build_rank(best_->completed.result), best_->iteration);
}

void Champion::lead(Entry entry) {
  score_ns_ = entry.completed.result.score_ns;
  best_ = std::move(entry);
}

OfferResult Champion::offer(const Completed& candidate, int iteration, RowId variant,
                            std::optional<PredictedScore> predicted) {
  if (!passed(candidate.result, depth_)) return OfferResult::behind;
  Entry entry{candidate, iteration, variant, std::move(predicted)};
  keep(entry);
  if (!beats(entry)) return OfferResult::behind;
  if (noisy_ && best_) {
    challengers_.insert(std::ranges::upper_bound(challengers_, entry, faster), std::move(entry));
    return OfferResult::challenges;
  }
  // a faster one narrows down who is tied with it, so that who leads now may have been offered before
  lead(ranking_.front().predicted ? first_of_ranking() : entry);
  return OfferResult::leads;
}

void Champion::race() {
  AK_ASSERT(!contender_ && challengers_.empty(), "challenges are settled before a race");
  if (!noisy_ || !best_ || ranking_.front().predicted) return;
  std::size_t raced = 0;
  for (const Entry& entry : ranking_) {
    if (is_settled(entry) || !may_be_faster(entry)) continue;
    if (raced++ >= kMaxRaced) return;
    challengers_.insert(std::ranges::upper_bound(challengers_, entry, faster), entry)->raced = true;
  }
}

const Completed* Champion::next_challenger() {
  AK_ASSERT(!contender_, "one challenge at a time");
  // Who leads may have changed since a race began.
  std::erase_if(challengers_,
                [&](const Entry& entry) { return entry.raced ? is_settled(entry) : !seems_faster(entry); });
  if (challengers_.empty()) return nullptr;
  contender_ = std::move(challengers_.front());
  challengers_.erase(challengers_.begin());
  return &contender_->completed;
}

bool Champion::settle(const std::optional<PairedVerdict>& verdict) {
  AK_ASSERT(contender_, "there is a challenge to settle");
  Entry entry = *std::exchange(contender_, std::nullopt);
  if (!verdict || verdict->ratio.interval.low > 1) beaten_.insert(entry.iteration);
  if (!verdict) return false;
  const bool wins = entry.raced ? verdict->likely_faster : verdict->faster;
  if (wins) {
    beaten_.insert(best_->iteration);
    lead(std::move(entry));
  }
  score_ns_ = wins ? verdict->challenger_ns : verdict->champion_ns;
  return wins;
}

void Champion::disqualify_challenger() {
  AK_ASSERT(contender_, "there is a challenge to end");
  const int iteration = std::exchange(contender_, std::nullopt)->iteration;
  std::erase_if(ranking_, [&](const Entry& entry) { return entry.iteration == iteration; });
}

void Champion::replace_result(EvaluationResult result) {
  AK_ASSERT(best_, "there is a champion to measure again");
  score_ns_ = result.score_ns;
  best_->completed.result = std::move(result);
}

bool Champion::faster(const Entry& a, const Entry& b) {
  const auto rank = [](const Entry& entry) {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    return std::tuple(entry.predicted ? entry.predicted->score.value() : kUnknown,
                      entry.completed.result.score_ns.value_or(kUnknown), entry.iteration);
  };
  return rank(a) < rank(b);
}

/// The fastest, or by the lower cost one that the prediction cannot tell from it.
const Champion::Entry& Champion::first_of_ranking() const {
  const auto& fastest = ranking_.front().predicted;
  if (!fastest) return ranking_.front();
  const auto tied = std::ranges::find_if_not(ranking_, [&](const Entry& entry) {
    return entry.predicted && entry.predicted->score <= fastest->high;
  });
  const Entry* first = &ranking_.front();
  for (auto at = ranking_.begin(); at != tied; ++at) {
    const Entry& entry = *at;
    const auto &cost_ns = entry.completed.result.score_ns, &lowest_ns = first->completed.result.score_ns;
    if (cost_ns && (!lowest_ns || *cost_ns <= *lowest_ns * (1 - kMinGain))) first = &entry;
  }
  return *first;
}

void Champion::keep(const Entry& entry) {
  ranking_.insert(std::ranges::upper_bound(ranking_, entry, faster), entry);
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
  score_ns_.reset();
  if (!ranking_.empty()) lead(first_of_ranking());
}

std::optional<RowId> Champion::variant() const {
  return best_ ? std::optional(best_->variant) : std::nullopt;
}

const PredictedScore* Champion::predicted() const {
  return best_ && best_->predicted ? &*best_->predicted : nullptr;
}

std::optional<double> Champion::score_ns() const { return score_ns_; }

}  // namespace ak::agent

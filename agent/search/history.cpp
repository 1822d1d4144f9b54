// SPDX-License-Identifier: Apache-2.0
#include "agent/search/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ak::agent {
namespace {

/// Most points that are compared for one proposal (chosen: about 0.1 ms).
constexpr std::size_t kSnapSample = 4096;

}  // namespace

History::History(const SearchSpace& space)
    : points_(space), unseen_(points_.size()), place_(points_.size()), answer_(points_.size(), kSeen) {
  std::iota(unseen_.begin(), unseen_.end(), 0U);
  std::iota(place_.begin(), place_.end(), 0U);
}

std::optional<double> History::log_time(std::size_t point) const {
  return answer_[point] == kSeen ? std::nullopt : told_[answer_[point]].log_time;
}

std::vector<Observation> History::fastest(std::size_t count) const {
  std::vector<Observation> result;
  for (const Observation& answer : told_)
    if (answer.log_time) result.push_back(answer);
  std::ranges::stable_sort(result, {}, [](const Observation& answer) { return *answer.log_time; });
  if (result.size() > count) result.resize(count);
  return result;
}

std::size_t History::draw_unseen(Engine& engine) const { return unseen_[draw_below(engine, unseen_.size())]; }

std::vector<std::size_t> History::sample_unseen(Engine& engine, std::size_t count) const {
  std::vector<std::size_t> result(unseen_.begin(), unseen_.end());
  count = std::min(count, result.size());
  for (std::size_t i = 0; i < count; ++i)
    std::swap(result[i], result[i + draw_below(engine, result.size() - i)]);
  result.resize(count);
  return result;
}

std::size_t History::snap(Engine& engine, Ordinals ordinals) const {
  if (const auto exact = points_.find(ordinals); exact && unseen(*exact)) return *exact;
  const std::size_t compared = std::min(unseen_.size(), kSnapSample);
  const std::size_t first = draw_below(engine, unseen_.size());
  std::size_t closest = unseen_[first];
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < compared; ++i) {
    const std::size_t point =
        compared < unseen_.size() ? draw_unseen(engine) : unseen_[(first + i) % unseen_.size()];
    const double distance = points_.distance(ordinals, points_.ordinals(point));
    if (distance < least) least = distance, closest = point;
  }
  return closest;
}

void History::remove_unseen(std::size_t point) {
  if (!unseen(point)) return;
  const std::uint32_t last = unseen_.back();
  unseen_[place_[point]] = last;
  place_[last] = place_[point];
  place_[point] = kSeen;
  unseen_.pop_back();
}

void History::propose(std::size_t point) {
  remove_unseen(point);
  pending_.push_back(point);
}

void History::give_up(std::size_t point) {
  remove_unseen(point);
  std::erase(pending_, point);
}

bool History::tell(std::size_t point, std::optional<double> time_ns) {
  if (answer_[point] != kSeen) return false;
  remove_unseen(point);
  std::erase(pending_, point);
  answer_[point] = static_cast<std::uint32_t>(told_.size());
  told_.push_back({point, time_ns ? std::optional(std::log(*time_ns)) : std::nullopt});
  if (time_ns && (!best_ || *told_.back().log_time < *best_->log_time)) best_ = told_.back();
  return true;
}

}  // namespace ak::agent

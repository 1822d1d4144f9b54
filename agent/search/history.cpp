// SPDX-License-Identifier: Apache-2.0
#include "agent/search/history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ak::agent {

History::History(std::shared_ptr<const TunableSpace> space, const EarlierSearches& earlier)
    : points_(std::move(space)), prior_(SearchPrior::make(points_, earlier)), unseen_(points_.size()) {}

std::optional<double> History::log_time(PointNumber point) const {
  const auto answer = answer_.find(point);
  return answer == answer_.end() ? std::nullopt : told_[answer->second].log_time;
}

std::vector<Observation> History::fastest(std::size_t count) const {
  std::vector<const Observation*> answers;
  for (const Observation& answer : told_)
    if (answer.log_time) answers.push_back(&answer);
  count = std::min(count, answers.size());
  const auto end = answers.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(answers, end, {}, [](const Observation* answer) {
    return std::pair(*answer->log_time, answer);  // of equal ones the first
  });
  std::vector<Observation> result;
  for (auto answer = answers.begin(); answer != end; ++answer) result.push_back(**answer);
  return result;
}

PointNumber History::snap(Engine& engine, OrdinalsView ordinals) const {
  return points_.closest(engine, ordinals, unseen_);
}

void History::propose(PointNumber point) {
  unseen_.take(point);
  pending_.push_back(point);
}

void History::give_up(PointNumber point) {
  unseen_.take(point);
  std::erase(pending_, point);
}

bool History::tell(PointNumber point, std::optional<double> time_ns) {
  if (!answer_.emplace(point, told_.size()).second) return false;
  unseen_.take(point);
  std::erase(pending_, point);
  told_.push_back({point, time_ns ? std::optional(std::log(*time_ns)) : std::nullopt});
  if (time_ns && (!best_ || *told_.back().log_time < *best_->log_time)) best_ = told_.back();
  return true;
}

}  // namespace ak::agent

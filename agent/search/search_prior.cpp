// SPDX-License-Identifier: Apache-2.0
#include "agent/search/search_prior.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "agent/search/remaining_numbers.h"

namespace ak::agent {
namespace {

constexpr std::size_t kMaxExpectations = 8192;  // kept (chosen: 1 MB)
// Looking for the fastest: random points, and neighbours of so many of the fastest as long as that finds faster ones
// (chosen: 20 ms, once).
constexpr std::size_t kDrawnPoints = 1500, kClimbed = 12, kFastest = 64;
constexpr double kLeastSpread = 1e-3;

/// Of a time that is none, nothing: neither that it worked nor that it failed.
std::optional<EarlierAnswer> placed(const Points& points, const EarlierSearch::Answer& answer) {
  auto ordinals = points.place(answer.point);
  const bool is_time = !answer.time_ns || (std::isfinite(*answer.time_ns) && *answer.time_ns > 0);
  if (!ordinals || !is_time) return std::nullopt;
  return EarlierAnswer{std::move(*ordinals),
                       answer.time_ns ? std::optional(std::log(*answer.time_ns)) : std::nullopt};
}

}  // namespace

std::unique_ptr<SearchPrior> SearchPrior::make(const Points& points, const EarlierSearches& earlier) {
  if (points.size() < 2) return nullptr;
  std::vector<std::vector<EarlierAnswer>> groups;
  for (const EarlierSearch& search : earlier) {
    auto& group = groups.emplace_back();
    for (const EarlierSearch::Answer& answer : search.answers)
      if (auto found = placed(points, answer)) group.push_back(std::move(*found));
  }
  std::unique_ptr<SearchPrior> prior(new SearchPrior(points, std::move(groups)));
  if (prior->groups() == 0) return nullptr;
  prior->find_fastest();
  return prior;
}

SearchPrior::SearchPrior(const Points& points, std::vector<std::vector<EarlierAnswer>> groups)
    : points_(points), times_(points.tunables(), std::move(groups)) {}

const SearchPrior::Expectation& SearchPrior::at(PointNumber point) {
  if (expectations_.size() >= kMaxExpectations) expectations_.clear();
  auto [found, is_new] = expectations_.try_emplace(point);
  Expectation& expectation = found->second;
  if (!is_new) return expectation;
  const Ordinals ordinals = points_.ordinals(point);
  for (std::size_t group = 0; group < groups(); ++group) {
    const double log_time = times_.expect(group, ordinals, expectation.outcomes);
    expectation.log_times.push_back(log_time);
    expectation.log_time += log_time / static_cast<double>(groups());
  }
  return expectation;
}

void SearchPrior::find_fastest() {
  Engine engine;  // always the same: the prior does not depend on the search's seed
  std::vector<std::pair<double, PointNumber>> found;
  std::unordered_set<PointNumber> seen, climbed;
  const auto look_at = [&](PointNumber point) {
    if (seen.insert(point).second) found.emplace_back(at(point).log_time, point);
  };
  const auto drawn = std::min<std::uint64_t>(points_.size(), kDrawnPoints);
  for (const PointNumber point : RemainingNumbers(points_.size()).sample(engine, drawn)) look_at(point);
  double sum = 0, squares = 0;
  for (const auto& [log_time, point] : found) sum += log_time, squares += log_time * log_time;
  const double mean = sum / static_cast<double>(found.size());
  spread_ = std::max(std::sqrt(std::max(squares / static_cast<double>(found.size()) - mean * mean, 0.0)),
                     kLeastSpread);
  for (bool more = true; more;) {
    std::ranges::sort(found);
    more = false;
    for (std::size_t i = 0, top = std::min(kClimbed, found.size()); i < top; ++i) {
      const PointNumber point = found[i].second;
      if (!climbed.insert(point).second) continue;
      more = true;
      for (const PointNumber neighbour : points_.neighbours(point)) look_at(neighbour);
    }
  }
  for (std::size_t i = 0; i < std::min(kFastest, found.size()); ++i) fastest_.push_back(found[i].second);
}

}  // namespace ak::agent

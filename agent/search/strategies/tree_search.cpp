// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "agent/search/first_points.h"
#include "agent/search/forest.h"
#include "agent/search/improvement.h"
#include "agent/search/members.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

constexpr std::size_t kFirstTreePoints = 12;  // spread points before the model is asked (chosen)
constexpr std::size_t kPool = 400;       // random points that are scored, alongside neighbours (chosen: time)
constexpr std::size_t kTreeCentres = 6;  // fastest points whose neighbours are scored
constexpr std::size_t kMaxTreeRows = 300;  // the fastest and the last of them are learned from
// Every tree is grown again while answers grow by this factor, a few at a time, so that no proposal takes long.
constexpr double kTreeRefitGrowth = 1.02;
constexpr std::size_t kMostGrown = 10;
constexpr double kMinVariance = 1e-4;  // trees that agree are not that sure; of (log time)^2

/// The point with the largest expected improvement under a forest of random trees. Failures and points on
/// their way count as slow as the slowest quarter, so that it goes elsewhere.
class TreeSearch final : public Member {
 public:
  PointNumber pick(const History& history, Engine& engine) override {
    if (history.told().size() < kFirstTreePoints || !history.best()) return spread_point(history, engine);
    if (!forest_) forest_.emplace(history.points());
    if (const std::size_t due = trees_due(history.told().size()); due > 0) {
      learn_all(history, std::min(due, kMostGrown), engine);
      fitted_at_ = history.told().size();
    }
    std::vector<PointNumber> pool = history.sample_unseen(engine, kPool);
    for (const Observation& centre : history.fastest(kTreeCentres))
      for (const PointNumber point : history.points().neighbours(centre.point))
        if (history.unseen(point)) pool.push_back(point);
    std::vector<double> scores;
    for (const Forest::Prediction& prediction : forest_->predict(pool))
      scores.push_back(expected_improvement(*history.best()->log_time, prediction.mean,
                                            prediction.variance + kMinVariance));
    return pool[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())];
  }

 private:
  [[nodiscard]] std::size_t trees_due(std::size_t answers) const {
    const double grown =
        static_cast<double>(answers) / static_cast<double>(std::max<std::size_t>(fitted_at_, 1));
    return static_cast<std::size_t>(Forest::kTrees * std::log(grown) / std::log(kTreeRefitGrowth));
  }

  void learn_all(const History& history, std::size_t trees, Engine& engine) {
    const auto fastest = history.fastest(history.told().size());
    const double slow = *fastest[fastest.size() * 3 / 4].log_time;
    std::vector<PointNumber> rows;
    std::vector<double> values;
    const auto learn = [&](std::size_t point, double log_time) {
      rows.push_back(point);
      values.push_back(log_time);
    };
    for (std::size_t i = 0; i < std::min(fastest.size(), kMaxTreeRows / 2); ++i)
      learn(fastest[i].point, *fastest[i].log_time);
    const double known = fastest.size() <= kMaxTreeRows / 2 ? 0 : *fastest[kMaxTreeRows / 2].log_time;
    const auto& told = history.told();
    for (std::size_t i = told.size() - std::min(told.size(), kMaxTreeRows); i < told.size(); ++i) {
      const double log_time = told[i].log_time.value_or(slow);
      if (!told[i].log_time || (fastest.size() > kMaxTreeRows / 2 && log_time >= known))
        learn(told[i].point, log_time);
    }
    for (const PointNumber point : history.pending()) learn(point, slow);
    forest_->fit(rows, values, trees, engine);
  }

  std::optional<Forest> forest_;
  std::size_t fitted_at_ = 0;
};

}  // namespace

std::unique_ptr<Member> tree_search() { return std::make_unique<TreeSearch>(); }

const Strategy kTreeSearch{"forest", "expected improvement under randomised trees", alone<TreeSearch>};

}  // namespace ak::agent

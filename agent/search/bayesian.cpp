// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "agent/search/builtin.h"
#include "agent/search/first_points.h"
#include "agent/search/gaussian_process.h"
#include "agent/search/improvement.h"
#include "agent/search/members.h"

namespace ak::agent {
namespace {

constexpr std::size_t kFirst = 12;      // spread points before the model is asked (chosen)
constexpr std::size_t kPool = 1200;     // random points that are scored, beside neighbours (chosen: time)
constexpr std::size_t kCentres = 6;     // fastest points whose neighbours are scored
constexpr std::size_t kMostRows = 250;  // the model's size: its time grows with the square
constexpr double kRefitGrowth = 1.15;   // weights are fitted when there are so many times the rows
constexpr int kFirstSteps = 15, kSteps = 4;

/// Bayesian optimisation: the point with the largest expected improvement of the log time, times the chance
/// that it does not fail. Points on their way are believed to come as predicted.
class Bayesian final : public Member {
 public:
  std::size_t pick(const History& history, Engine& engine) override {
    if (history.told().size() < kFirst || !history.best()) return spread_point(history, engine);
    update(history, engine);
    std::size_t chosen = pool_.front().projection.point;
    double most = -1, expected = 0;
    for (Candidate& candidate : pool_) {
      model_->project(candidate.projection);
      const auto prediction = model_->predict(candidate.projection);
      const double score =
          expected_improvement(best_, prediction.mean, prediction.variance) * chance_to_work(candidate);
      if (score <= most) continue;
      most = score;
      expected = prediction.mean;
      chosen = candidate.projection.point;
    }
    beliefs_[chosen] = mean_ + deviation_ * expected;
    return chosen;
  }

 private:
  struct Candidate {
    GaussianProcess::Projection projection;
    std::size_t weighed = 0;     ///< answers in the two sums
    double worked = 1, all = 1;  ///< one that works is believed in beforehand
  };

  void update(const History& history, Engine& engine) {
    const auto due = static_cast<std::size_t>(kRefitGrowth * static_cast<double>(fitted_rows_));
    if (!model_) model_.emplace(history.points());
    add_rows(history);
    const bool refit = fitted_rows_ == 0 || model_->rows().size() > due;
    if (refit && model_->rows().size() > kMostRows) forget(history, engine);
    set_values(history);
    if (refit) {
      model_->fit(fitted_rows_ == 0 ? kFirstSteps : kSteps);
      fitted_rows_ = model_->rows().size();
      pool_.clear();
    } else {
      model_->solve();
    }
    refill(history, engine);
  }

  /// Keeps the fastest points and some of the others.
  void forget(const History& history, Engine& engine) {
    std::vector<std::size_t> rest = model_->rows();
    std::vector<std::size_t> kept;
    std::unordered_set<std::size_t> known;
    const auto keep = [&](std::size_t point) {
      if (known.insert(point).second) kept.push_back(point);
    };
    for (const Observation& answer : history.fastest(kMostRows / 2)) keep(answer.point);
    for (const std::size_t point : history.pending()) keep(point);
    shuffle(engine, rest);
    for (std::size_t i = 0; i < rest.size() && kept.size() < kMostRows; ++i) keep(rest[i]);
    model_->replace(std::move(kept));
    std::erase_if(answers_, [&](const auto& answer) { return !known.contains(answer.first); });
    in_model_ = std::move(known);
  }

  void add_rows(const History& history) {
    const auto add = [&](std::size_t point) {
      if (in_model_.insert(point).second) model_->add(point);
    };
    for (; added_ < history.told().size(); ++added_) {
      const Observation& answer = history.told()[added_];
      add(answer.point);
      beliefs_.erase(answer.point);
      answers_.emplace_back(answer.point, answer.log_time.has_value());
      any_failed_ = any_failed_ || !answer.log_time;
    }
    for (const std::size_t point : history.pending()) add(point);
  }

  void set_values(const History& history) {
    double sum = 0, squares = 0, count = 0;
    for (const Observation& answer : history.told()) {
      if (!answer.log_time) continue;
      sum += *answer.log_time;
      squares += *answer.log_time * *answer.log_time;
      ++count;
    }
    mean_ = sum / count;
    deviation_ = std::max(std::sqrt(std::max(squares / count - mean_ * mean_, 0.0)), 1e-6);
    std::vector<double> values;
    for (const std::size_t row : model_->rows()) {
      const auto belief = beliefs_.find(row);
      const double otherwise = belief == beliefs_.end() ? mean_ : belief->second;  // failed, or on its way
      values.push_back((history.log_time(row).value_or(otherwise) - mean_) / deviation_);
    }
    best_ = (*history.best()->log_time - mean_) / deviation_;
    model_->set_values(std::move(values));
  }

  void refill(const History& history, Engine& engine) {
    std::erase_if(pool_,
                  [&](const Candidate& candidate) { return !history.unseen(candidate.projection.point); });
    if (pool_.empty()) {
      in_pool_.clear();
      for (const std::size_t point : history.sample_unseen(engine, kPool)) offer(history, point);
    }
    for (const Observation& centre : history.fastest(kCentres))
      for (const std::size_t point : history.points().neighbours(centre.point)) offer(history, point);
  }

  void offer(const History& history, std::size_t point) {
    if (history.unseen(point) && in_pool_.insert(point).second)
      pool_.push_back({.projection = {point, {}, 1}});
  }

  /// Share of those that worked among the known points, by the kernel squared: failing is more local than
  /// being fast.
  [[nodiscard]] double chance_to_work(Candidate& candidate) const {
    if (!any_failed_) return 1;
    for (; candidate.weighed < answers_.size(); ++candidate.weighed) {
      const auto& [row, worked] = answers_[candidate.weighed];
      const double kernel = model_->kernel(candidate.projection.point, row);
      candidate.all += kernel * kernel;
      if (worked) candidate.worked += kernel * kernel;
    }
    return candidate.worked / candidate.all;
  }

  std::optional<GaussianProcess> model_;
  std::vector<Candidate> pool_;
  std::vector<std::pair<std::size_t, bool>>
      answers_;  ///< points of the model that were told; whether they worked
  bool any_failed_ = false;
  std::unordered_set<std::size_t> in_pool_, in_model_;
  std::size_t added_ = 0, fitted_rows_ = 0;
  std::unordered_map<std::size_t, double> beliefs_;  ///< predicted log times of points on their way
  double mean_ = 0, deviation_ = 1;                  ///< of the log times
  double best_ = 0;                                  ///< standardised, as what the model holds
};

}  // namespace

std::unique_ptr<Member> bayesian() { return std::make_unique<Bayesian>(); }

std::unique_ptr<SearchStrategy> make_bayesian(SearchSpace space, std::uint64_t seed) {
  return stand_alone(space, seed, bayesian());
}

}  // namespace ak::agent

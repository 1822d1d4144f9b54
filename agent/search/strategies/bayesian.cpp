// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/search/first_points.h"
#include "agent/search/improvement.h"
#include "agent/search/members.h"
#include "agent/search/prior_trend.h"
#include "core/learn/point_correlation.h"
#include "core/learn/stats.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

constexpr std::size_t kFirst = 8;  // spread points before the model is asked (chosen)
// Random points that are scored alongside neighbours. All are compared again when weights are fitted, so that
// such a proposal begins with few and later ones bring more (chosen: time).
constexpr std::size_t kFirstPool = 400, kMorePool = 100, kMaxPool = 1200;
constexpr std::size_t kCentres = 6;    // fastest points whose neighbours are scored
constexpr std::size_t kMaxRows = 250;  // the model's size: its time grows with the square
constexpr double kRefitGrowth = 1.15;  // weights are fitted when there are so many times the rows
// Of a proposal's candidates and the model's rows there are about half as many (chosen: 0.5 MB).
constexpr std::size_t kMaxOrdinals = 4096;
// With a prior (chosen): what it leaves of the deviation that it expects over the space, and how many answers this counts
// for; how many answers what it says of failing counts for.
constexpr double kResidual = 0.3, kResidualWeight = 4, kFailureWeight = 2;
// With a prior, every so many-th proposal is of the model that uses it. Answers that judge the prior, and the rank
// correlation with them below which it is not asked. Points that it chooses before anything works (all chosen).
constexpr std::size_t kTurns = 2, kJudged = 4, kStarts = 5;
constexpr double kTrusted = 0.5;
constexpr int kFirstSteps = 15, kSteps = 4;

/// Bayesian optimisation: the point with the largest expected improvement of the log time, times the chance
/// that it does not fail. Points in flight are believed to come as predicted. Where the prior is used the process is of
/// what its trend leaves.
class ProcessModel final : public Member {
 public:
  explicit ProcessModel(bool uses_prior) : uses_prior_(uses_prior) {}

  /// One that uses the prior is asked after an answer with a time.
  PointNumber pick(const History& history, Engine& engine) override {
    if (!history.best() || (!uses_prior_ && history.told().size() < kFirst))
      return spread_point(history, engine);
    update(history, engine);
    Candidate& chosen = best_candidate();
    const PointNumber point = chosen.projection.input;
    beliefs_[point] = mean_of(point) + deviation_ * model_->predict(chosen.projection).mean;
    return point;
  }

 private:
  [[nodiscard]] double mean_of(PointNumber point) const { return trend_ ? trend_->mean(point) : mean_; }

  struct Candidate {
    GaussianProcess::Projection projection;
    double trend = 0, trend_variance = 0;  ///< what the prior adds to the model; 0 without one
    double chance = 1;                     ///< not to fail; 1 until it is needed
    double score = 0;                      ///< at least what exact variances and chances give
  };

  /// Scores with a variance and a chance from above are cheap; exact ones are found out only as long as they may
  /// win, chances first.
  Candidate& best_candidate() {
    std::vector<Candidate*> order;
    for (Candidate& candidate : pool_) {
      model_->relate(candidate.projection);
      add_trend(candidate);
      candidate.chance = 1;
      candidate.score = score(candidate);
      order.push_back(&candidate);
    }
    std::ranges::stable_sort(order, std::greater(), &Candidate::score);
    Candidate* best = nullptr;
    for (Candidate* candidate : order) {
      if (best != nullptr && candidate->score <= best->score) break;
      candidate->chance = chance_to_work(*candidate);
      candidate->score *= candidate->chance;
      if (best != nullptr && candidate->score <= best->score) continue;
      model_->project(candidate->projection);
      candidate->score = score(*candidate);
      if (best == nullptr || candidate->score > best->score) best = candidate;
    }
    return *best;
  }

  void add_trend(Candidate& candidate) const {
    if (!trend_) return;
    candidate.trend = trend_->mean(candidate.projection.input) / deviation_;
    candidate.trend_variance = trend_->variance(candidate.projection) / (deviation_ * deviation_);
  }

  [[nodiscard]] double score(const Candidate& candidate) const {
    const auto prediction = model_->predict(candidate.projection);
    return expected_improvement(best_ - candidate.trend, prediction.mean,
                                prediction.variance + candidate.trend_variance) *
           candidate.chance;
  }

  void update(const History& history, Engine& engine) {
    const auto due = static_cast<std::size_t>(kRefitGrowth * static_cast<double>(fitted_rows_));
    if (!model_) {
      correlation_.emplace(history.points().tunables(),
                           [this, &points = history.points()](std::size_t input) -> const Ordinals& {
                             if (ordinals_.size() >= kMaxOrdinals) ordinals_.clear();
                             auto [found, is_new] = ordinals_.try_emplace(input);
                             if (is_new) found->second = points.ordinals(input);
                             return found->second;
                           });
      model_.emplace(*correlation_, point_process_options());
    }
    add_rows(history);
    const bool refit = fitted_rows_ == 0 || model_->rows().size() > due;
    if (refit && model_->rows().size() > kMaxRows) forget(history, engine);
    if (uses_prior_ && !trend_) trend_.emplace(*history.prior(), *history.best()->log_time);
    if (refit) {
      set_values(history);
      model_->fit(fitted_rows_ == 0 ? kFirstSteps : kSteps);
      fitted_rows_ = model_->rows().size();
      pool_.clear();
    }
    if (trend_) trend_->fit(*model_, history, deviation_ * deviation_);
    if (trend_ || !refit) {
      set_values(history);
      model_->solve();
    }
    refill(history, engine);
  }

  /// Keeps the fastest points and some of the others.
  void forget(const History& history, Engine& engine) {
    std::vector<PointNumber> rest = model_->rows();
    std::vector<PointNumber> kept;
    std::unordered_set<PointNumber> known;
    const auto keep = [&](PointNumber point) {
      if (known.insert(point).second) kept.push_back(point);
    };
    for (const Observation& answer : history.fastest(kMaxRows / 2)) keep(answer.point);
    for (const PointNumber point : history.pending()) keep(point);
    shuffle(engine, rest);
    for (std::size_t i = 0; i < rest.size() && kept.size() < kMaxRows; ++i) keep(rest[i]);
    model_->replace(std::move(kept));
    in_model_ = std::move(known);
  }

  void add_rows(const History& history) {
    const auto add = [&](PointNumber point) {
      if (in_model_.insert(point).second) model_->add(point);
    };
    for (; added_ < history.told().size(); ++added_) {
      const Observation& answer = history.told()[added_];
      add(answer.point);
      beliefs_.erase(answer.point);
      any_failed_ = any_failed_ || !answer.log_time;
    }
    for (const PointNumber point : history.pending()) add(point);
  }

  void set_values(const History& history) {
    double sum = 0, squares = 0, count = 0;
    for (const Observation& answer : history.told()) {
      if (!answer.log_time) continue;
      const double left = *answer.log_time - (trend_ ? trend_->mean(answer.point) : 0);
      sum += left;
      squares += left * left;
      ++count;
    }
    mean_ = trend_ ? 0 : sum / count;
    double squared = squares / count - mean_ * mean_;
    if (trend_) {
      const double expected = kResidual * history.prior()->spread();
      squared = (kResidualWeight * expected * expected + squares) / (kResidualWeight + count);
    }
    deviation_ = std::max(std::sqrt(std::max(squared, 0.0)), 1e-6);
    std::vector<double> values;
    worked_.clear(), failed_.clear();
    for (const PointNumber row : model_->rows()) {
      worked_.push_back(history.log_time(row) ? 1 : 0);
      failed_.push_back(history.answered(row) && !history.log_time(row) ? 1 : 0);
      const auto belief = beliefs_.find(row);
      const double otherwise =
          belief == beliefs_.end() ? mean_of(row) : belief->second;  // failed, or in flight
      values.push_back((history.log_time(row).value_or(otherwise) - mean_of(row)) / deviation_);
    }
    best_ = (*history.best()->log_time - mean_) / deviation_;
    model_->set_values(std::move(values));
  }

  void refill(const History& history, Engine& engine) {
    std::erase_if(pool_,
                  [&](const Candidate& candidate) { return !history.unseen(candidate.projection.input); });
    if (pool_.empty()) in_pool_.clear();
    const std::size_t room = kMaxPool - std::min(pool_.size(), kMaxPool);
    for (const PointNumber point :
         history.sample_unseen(engine, pool_.empty() ? kFirstPool : std::min(room, kMorePool)))
      offer(history, point);
    for (const Observation& centre : history.fastest(kCentres))
      for (const PointNumber point : history.points().neighbours(centre.point)) offer(history, point);
    if (!uses_prior_) return;
    for (const PointNumber point : history.prior()->fastest()) offer(history, point);
  }

  void offer(const History& history, PointNumber point) {
    if (history.unseen(point) && in_pool_.insert(point).second)
      pool_.push_back({.projection = {point, {}, {}, 1}});
  }

  /// Share of those that worked among the known points, by the kernel squared: failing is more local than
  /// being fast. One that works is believed in beforehand.
  [[nodiscard]] double chance_to_work(const Candidate& candidate) const {
    if (!any_failed_ && !trend_) return 1;
    double worked = 1, failed = 0;
    if (trend_) {
      const double chance = trend_->chance_to_work(candidate.projection.input);
      worked = kFailureWeight * chance, failed = kFailureWeight * (1 - chance);
    }
    for (std::size_t row = 0; row < worked_.size(); ++row) {
      const double square = candidate.projection.k[row] * candidate.projection.k[row];
      worked += worked_[row] * square;
      failed += failed_[row] * square;
    }
    return worked / (worked + failed);
  }

  bool uses_prior_;
  std::optional<PriorTrend> trend_;  ///< where it is used
  /// Of those seen lately: finding them out of a number takes as long as comparing them with ten rows.
  std::unordered_map<PointNumber, Ordinals> ordinals_;
  std::optional<PointCorrelation> correlation_;
  std::optional<GaussianProcess> model_;
  std::vector<Candidate> pool_;
  std::vector<double> worked_, failed_;  ///< 1 or 0, by the model's rows: what is known of them
  bool any_failed_ = false;
  std::unordered_set<PointNumber> in_pool_, in_model_;
  std::size_t added_ = 0, fitted_rows_ = 0;
  std::unordered_map<PointNumber, double> beliefs_;  ///< predicted log times of points in flight
  double mean_ = 0, deviation_ = 1;  ///< of the log times; with a prior of what its trend leaves
  double best_ = 0;                  ///< standardised, as what the model holds
};

/// Without a prior, one model. With one, two of them in turns: one that uses it and one that knows of the answers alone,
/// so that a prior that misleads costs half of the proposals until the answers show it, and none later.
class Bayesian final : public Member {
 public:
  [[nodiscard]] bool uses_prior() const override { return true; }

  PointNumber pick(const History& history, Engine& engine) override {
    if (history.prior() == nullptr || !trusted(history)) return cold_.pick(history, engine);
    if (turn_++ % kTurns != 0) return cold_.pick(history, engine);
    if (history.best()) return informed_.pick(history, engine);
    return start_point(history, engine);
  }

 private:
  /// What the prior expects to be the fastest, of a few: where nothing works there it has no more to say.
  PointNumber start_point(const History& history, Engine& engine) {
    const auto& fastest = history.prior()->fastest();
    while (starts_ < std::min(kStarts, fastest.size()))
      if (const PointNumber point = fastest[starts_++]; history.unseen(point)) return point;
    return spread_point(history, engine);
  }

  /// Whether the prior puts the answers in about their order. Answers, not what it says of points in flight.
  [[nodiscard]] static bool trusted(const History& history) {
    std::vector<double> expected, found;
    for (const Observation& answer : history.told()) {
      if (!answer.log_time) continue;
      expected.push_back(history.prior()->at(answer.point).log_time);
      found.push_back(*answer.log_time);
    }
    return found.size() < kJudged || rank_correlation(expected, found) >= kTrusted;
  }

  ProcessModel informed_{true}, cold_{false};
  std::size_t turn_ = 0, starts_ = 0;
};

}  // namespace

std::unique_ptr<Member> bayesian() { return std::make_unique<Bayesian>(); }

const Strategy kBayesian{"bayesian", "Bayesian optimisation with a Gaussian process", alone<Bayesian>};

}  // namespace ak::agent

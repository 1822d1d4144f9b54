// SPDX-License-Identifier: Apache-2.0
#include "agent/search/process_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "agent/search/improvement.h"

namespace ak::agent {
namespace {

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
constexpr int kFirstSteps = 15, kSteps = 4;
// What is slower than the median counts by this much of how much slower it is in logarithms: how slow the slow are says
// little about the fast (chosen: experiments/results/2026-11-27_search_verdicts).
constexpr double kSlowHalf = 0.5;
// Of a forecast: whose exact variances are found out (chosen: time).
constexpr std::size_t kMaxForecasts = 400;

}  // namespace

PointNumber ProcessModel::pick(const History& history, Engine& engine) {
  update(history, engine);
  const Candidate& chosen = best_candidate();
  const PointNumber point = chosen.projection.input;
  beliefs_[point] = mean_of(point) + deviation_ * model_->predict(chosen.projection).mean;
  return point;
}

std::vector<Forecast> ProcessModel::forecasts(const History& history, Engine& engine, double best) {
  update(history, engine);
  const double bar = (best - mean_) / deviation_;
  std::vector<Candidate*> order;
  double drawn = 0, near = 0;
  for (Candidate& candidate : pool_) {
    relate(candidate);
    candidate.chance = 1;
    candidate.score = improvement(candidate, bar);
    (candidate.drawn ? drawn : near) += 1;
    order.push_back(&candidate);
  }
  const std::size_t count = std::min(order.size(), kMaxForecasts);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), std::greater(),
                            &Candidate::score);
  const auto rest = static_cast<double>(history.unanswered()) - near;
  std::vector<Forecast> result;
  for (Candidate* candidate : std::span(order).first(count)) {
    model_->project(candidate->projection);
    const auto [mean, variance] = model_->predict(candidate->projection);
    result.push_back({.mean = mean_ + deviation_ * (mean + candidate->trend),
                      .deviation = deviation_ * std::sqrt(variance + candidate->trend_variance),
                      .chance = chance_to_work(*candidate),
                      .weight = candidate->drawn ? std::max(1.0, rest / drawn) : 1});
  }
  return result;
}

/// Scores with a variance and a chance from above are cheap; exact ones are found out only as long as they may
/// win, chances first.
ProcessModel::Candidate& ProcessModel::best_candidate() {
  std::vector<Candidate*> order;
  for (Candidate& candidate : pool_) {
    relate(candidate);
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

void ProcessModel::relate(Candidate& candidate) const {
  model_->relate(candidate.projection);
  if (!trend_) return;
  candidate.trend = trend_->mean(candidate.projection.input) / deviation_;
  candidate.trend_variance = trend_->variance(candidate.projection) / (deviation_ * deviation_);
}

double ProcessModel::score(const Candidate& candidate) const {
  return improvement(candidate, best_) * candidate.chance;
}

double ProcessModel::improvement(const Candidate& candidate, double best) const {
  const auto prediction = model_->predict(candidate.projection);
  return expected_improvement(
      best - candidate.trend, prediction.mean,
      kBelievedDeviations * kBelievedDeviations * (prediction.variance + candidate.trend_variance));
}

void ProcessModel::update(const History& history, Engine& engine) {
  const auto due = static_cast<std::size_t>(kRefitGrowth * static_cast<double>(fitted_rows_));
  if (!model_) {
    correlation_.emplace(history.points().tunables(),
                         [this, &points = history.points()](std::size_t input) -> const Ordinals& {
                           if (ordinals_.size() >= kMaxOrdinals) ordinals_.clear();
                           auto [found, is_new] = ordinals_.try_emplace(input);
                           if (is_new) found->second = points.ordinals(input);
                           return found->second;
                         });
    // What counts elsewhere mostly counts here, also where the times do not agree.
    if (options_.believes && history.prior() != nullptr)
      correlation_->begin_with(history.prior()->kernel_parameters());
    model_.emplace(*correlation_, point_process_options());
  }
  add_rows(history);
  const bool refit = fitted_rows_ == 0 || model_->rows().size() > due;
  if (refit && model_->rows().size() > kMaxRows) forget(history, engine);
  if (options_.uses_prior && !trend_) trend_.emplace(*history.prior(), *history.best()->log_time);
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
void ProcessModel::forget(const History& history, Engine& engine) {
  std::vector<PointNumber> rest = model_->rows();
  std::vector<PointNumber> kept;
  std::unordered_set<PointNumber> known;
  const auto keep = [&](PointNumber point) {
    if (known.insert(point).second) kept.push_back(point);
  };
  for (const Observation& answer : history.fastest(kMaxRows / 2)) keep(answer.point);
  if (options_.believes)
    for (const PointNumber point : history.pending()) keep(point);
  shuffle(engine, rest);
  for (std::size_t i = 0; i < rest.size() && kept.size() < kMaxRows; ++i) keep(rest[i]);
  model_->replace(std::move(kept));
  in_model_ = std::move(known);
}

void ProcessModel::add_rows(const History& history) {
  const auto add = [&](PointNumber point) {
    if (in_model_.insert(point).second) model_->add(point);
  };
  for (; added_ < history.told().size(); ++added_) {
    const Observation& answer = history.told()[added_];
    add(answer.point);
    beliefs_.erase(answer.point);
    any_failed_ = any_failed_ || !answer.log_time;
  }
  if (options_.believes)
    for (const PointNumber point : history.pending()) add(point);
}

/// Nothing where the trend says how slow the slow are.
void ProcessModel::find_median(const History& history) {
  std::vector<double> log_times;
  for (const Observation& answer : history.told())
    if (answer.log_time) log_times.push_back(*answer.log_time);
  const auto middle = log_times.begin() + std::ssize(log_times) / 2;
  std::ranges::nth_element(log_times, middle);
  median_ = trend_ ? std::numeric_limits<double>::infinity() : *middle;
}

double ProcessModel::learned(double log_time) const {
  return log_time <= median_ ? log_time : median_ + kSlowHalf * (log_time - median_);
}

void ProcessModel::set_values(const History& history) {
  find_median(history);
  double sum = 0, squares = 0, count = 0;
  for (const Observation& answer : history.told()) {
    if (!answer.log_time) continue;
    const double left = learned(*answer.log_time) - (trend_ ? trend_->mean(answer.point) : 0);
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
    const auto log_time = history.log_time(row);
    values.push_back(((log_time ? learned(*log_time) : otherwise) - mean_of(row)) / deviation_);
  }
  best_ = (*history.best()->log_time - mean_) / deviation_;
  model_->set_values(std::move(values));
}

void ProcessModel::refill(const History& history, Engine& engine) {
  std::erase_if(
      pool_, [&](const Candidate& candidate) { return !may_be_asked(history, candidate.projection.input); });
  if (pool_.empty()) in_pool_.clear();
  const std::size_t room = kMaxPool - std::min(pool_.size(), kMaxPool);
  const std::size_t drawn = pool_.empty() ? kFirstPool : std::min(room, kMorePool);
  for (const PointNumber point : history.sample_unseen(engine, options_.believes ? drawn : room))
    offer(history, point, true);
  for (const Observation& centre : history.fastest(kCentres))
    for (const PointNumber point : history.points().neighbours(centre.point)) offer(history, point);
  if (!options_.believes)
    for (const PointNumber point : history.pending()) offer(history, point);
  if (!options_.uses_prior) return;
  for (const PointNumber point : history.prior()->fastest()) offer(history, point);
}

void ProcessModel::offer(const History& history, PointNumber point, bool drawn) {
  if (may_be_asked(history, point) && in_pool_.insert(point).second)
    pool_.push_back({.projection = {point, {}, {}, 1}, .drawn = drawn});
}

/// Share of those that worked among the known points, by the kernel squared: failing is more local than
/// being fast. One that works is believed in beforehand.
double ProcessModel::chance_to_work(const Candidate& candidate) const {
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

}  // namespace ak::agent

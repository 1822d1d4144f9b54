// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/model_evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "core/learn/stats.h"

namespace ak::profiler {
namespace {

constexpr double kJudgedUpTo = 10;       // times the best: no one asks how slow exactly
constexpr std::size_t kFewVariants = 8;  // of which an order says little
constexpr std::size_t kFolds = 5;
constexpr double kInterval = 0.9;             // share of measurements an interval is to hold
constexpr std::uint64_t kSubsetSeed = 0xa17;  // of the random halves: the same in every run

using Group = std::function<std::string(const MeasuredCall&)>;

/// Every group predicted by a model fitted to the others.
HeldOutTimes leave_out(const std::vector<MeasuredCall>& calls, const std::vector<std::string>& groups,
                       Knowledge knowledge, TimeModel::Scope scope) {
  HeldOutTimes times(calls.size());
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < calls.size(); ++i) members[groups[i]].push_back(i);
  for (const auto& [group, held_out] : members) {
    std::vector<const MeasuredCall*> rest;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (groups[i] != group) rest.push_back(&calls[i]);
    }
    const TimeModel model = rest.empty() ? TimeModel() : TimeModel::fit(rest, knowledge, scope);
    for (const std::size_t i : held_out) times[i] = model.predict(calls[i].facts, calls[i].device).time_ns;
  }
  return times;
}

std::map<std::string, std::vector<std::size_t>> grouped(const std::vector<MeasuredCall>& calls,
                                                        const Group& key) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < calls.size(); ++i) groups[key(calls[i])].push_back(i);
  return groups;
}

std::vector<bool> within_reach(const std::vector<MeasuredCall>& calls) {
  std::vector<bool> near(calls.size());
  for (const auto& [workload, members] :
       grouped(calls, [](const MeasuredCall& c) { return c.definition + " " + c.workload; })) {
    double best = calls[members.front()].measured_ns;
    for (const std::size_t i : members) best = std::min(best, calls[i].measured_ns);
    for (const std::size_t i : members) near[i] = calls[i].measured_ns <= kJudgedUpTo * best;
  }
  return near;
}

double mean(const std::vector<double>& values) {
  return values.empty()
             ? 0
             : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

void correlate(const std::vector<MeasuredCall>& calls, const HeldOutTimes& predicted, Accuracy& accuracy) {
  std::vector<double> correlations;
  for (const auto& [space, members] :
       grouped(calls, [](const MeasuredCall& c) { return c.space() + " " + c.workload; })) {
    if (members.size() < kFewVariants) continue;
    std::vector<double> a, b;
    for (const std::size_t i : members) a.push_back(predicted[i]), b.push_back(calls[i].measured_ns);
    correlations.push_back(rank_correlation(a, b));
  }
  accuracy.rank_correlation = mean(correlations);
  accuracy.median_rank_correlation = median(correlations);
}

/// Score of every variant of a space that has all its workloads, measured and predicted.
struct Scores {
  std::vector<double> measured, predicted;
};

Scores scores_of(const std::vector<MeasuredCall>& calls, const std::vector<std::size_t>& members,
                 const HeldOutTimes& predicted) {
  struct Times {
    std::vector<double> measured, predicted, weights;
  };
  std::map<std::string, Times> variants;
  std::size_t most = 0;
  for (const std::size_t i : members) {
    Times& times = variants[calls[i].variant];
    times.measured.push_back(calls[i].measured_ns);
    times.predicted.push_back(predicted[i]);
    times.weights.push_back(calls[i].weight);
    most = std::max(most, times.measured.size());
  }
  Scores scores;
  for (const auto& [name, times] : variants) {
    if (times.measured.size() < most) continue;
    scores.measured.push_back(weighted_geometric_mean(times.measured, times.weights));
    scores.predicted.push_back(weighted_geometric_mean(times.predicted, times.weights));
  }
  return scores;
}

double regret_of(const Scores& scores, std::vector<std::size_t>& order, std::mt19937_64& random) {
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  std::vector<std::size_t> half(order.begin(), order.begin() + std::ssize(order) / 2);
  std::ranges::stable_sort(half, {}, [&](std::size_t i) { return scores.predicted[i]; });
  double kept = 0, best = 0;
  for (std::size_t place = 0; place < half.size(); ++place) {
    const double time = scores.measured[half[place]];
    if (place < (half.size() + 1) / 2) kept = kept == 0 ? time : std::min(kept, time);
    best = best == 0 ? time : std::min(best, time);
  }
  return kept / best - 1;
}

}  // namespace

Groups algorithms_of(const std::vector<MeasuredCall>& calls) {
  Groups groups;
  for (const MeasuredCall& call : calls) groups.push_back(call.algorithm);
  return groups;
}

Groups fifths_of(const std::vector<MeasuredCall>& calls) {
  std::map<std::string, std::map<std::string, std::size_t>> numbers;  // of variants by space
  Groups groups;
  for (const MeasuredCall& call : calls) {
    auto& known = numbers[call.space()];
    const std::size_t number = known.try_emplace(call.variant, known.size()).first->second;
    groups.push_back(std::to_string(number % kFolds));
  }
  return groups;
}

HeldOutTimes leave_one_algorithm_out(const std::vector<MeasuredCall>& calls, Knowledge knowledge) {
  return leave_out(calls, algorithms_of(calls), knowledge, TimeModel::Scope::new_plans);
}

HeldOutTimes leave_variants_out(const std::vector<MeasuredCall>& calls, Knowledge knowledge) {
  return leave_out(calls, fifths_of(calls), knowledge, TimeModel::Scope::all_plans);
}

Coverage interval_coverage(const std::vector<MeasuredCall>& calls, const HeldOutTimes& predicted,
                           const Groups& groups) {
  const std::vector<bool> near = within_reach(calls);
  std::map<std::string, std::vector<double>> errors;  // by group
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (near[i]) errors[groups[i]].push_back(std::log(calls[i].measured_ns / predicted[i]));
  }
  Coverage coverage;
  double inside_of_all = 0, all = 0;
  for (const auto& [group, own] : errors) {
    std::vector<double> others;
    for (const auto& [other, values] : errors) {
      if (other != group) others.insert(others.end(), values.begin(), values.end());
    }
    const double low = quantile(others, 0.5 - kInterval / 2), high = quantile(others, 0.5 + kInterval / 2);
    const auto inside =
        std::ranges::count_if(own, [&](double error) { return error >= low && error <= high; });
    coverage.by_group[group] = static_cast<double>(inside) / static_cast<double>(own.size());
    inside_of_all += static_cast<double>(inside);
    all += static_cast<double>(own.size());
  }
  coverage.share = all > 0 ? inside_of_all / all : 0;
  return coverage;
}

HeldOutTimes analytic_only(const std::vector<MeasuredCall>& calls, Knowledge knowledge) {
  HeldOutTimes times;
  for (const MeasuredCall& call : calls) {
    times.push_back(TimeModel().predict(call.facts.limited_to(knowledge), call.device).time_ns);
  }
  return times;
}

Accuracy accuracy_of(const std::vector<MeasuredCall>& calls, const HeldOutTimes& predicted) {
  const std::vector<bool> near = within_reach(calls);
  Accuracy accuracy;
  accuracy.spaces = grouped(calls, &MeasuredCall::space).size();
  std::vector<double> errors, logs;
  std::map<std::string, std::vector<double>> by_algorithm;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!near[i]) continue;
    errors.push_back(std::abs(predicted[i] / calls[i].measured_ns - 1));
    logs.push_back(std::log(calls[i].measured_ns / predicted[i]));
    by_algorithm[calls[i].algorithm].push_back(errors.back());
  }
  accuracy.calls = errors.size();
  accuracy.mean_error = mean(errors);
  accuracy.median_error = median(errors);
  for (const auto& [name, values] : by_algorithm) accuracy.error_by_algorithm[name] = mean(values);
  accuracy.errors = {quantile(logs, 0.5 - kInterval / 2), quantile(logs, 0.5 + kInterval / 2)};
  correlate(calls, predicted, accuracy);
  return accuracy;
}

PruningRegret pruning_regret(const std::vector<MeasuredCall>& calls, const HeldOutTimes& predicted,
                             int subsets) {
  PruningRegret regret;
  regret.subsets = subsets;
  std::mt19937_64 random(kSubsetSeed);
  std::vector<double> all;
  for (const auto& [space, members] : grouped(calls, &MeasuredCall::space)) {
    const Scores scores = scores_of(calls, members, predicted);
    if (scores.measured.size() < kFewVariants) continue;
    std::vector<std::size_t> order(scores.measured.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<double> here;
    for (int i = 0; i < subsets; ++i) here.push_back(regret_of(scores, order, random));
    regret.p95_by_space[space] = quantile(here, 0.95);
    all.insert(all.end(), here.begin(), here.end());
    ++regret.spaces;
  }
  regret.median = median(all);
  regret.p95 = quantile(all, 0.95);
  regret.worst = quantile(all, 1);
  regret.mean = mean(all);
  return regret;
}

Json to_json(const Accuracy& accuracy) {
  return {{"calls", accuracy.calls},
          {"spaces", accuracy.spaces},
          {"mean_error", accuracy.mean_error},
          {"median_error", accuracy.median_error},
          {"rank_correlation", accuracy.rank_correlation},
          {"median_rank_correlation", accuracy.median_rank_correlation},
          {"error_by_algorithm", accuracy.error_by_algorithm},
          {"ln_error_p05", accuracy.errors.low},
          {"ln_error_p95", accuracy.errors.high}};
}

Json to_json(const Coverage& coverage) {
  return {{"share", coverage.share}, {"by_group", coverage.by_group}};
}

Json to_json(const PruningRegret& regret) {
  return {{"spaces", regret.spaces},
          {"subsets_of_each", regret.subsets},
          {"median", regret.median},
          {"p95", regret.p95},
          {"worst", regret.worst},
          {"mean", regret.mean},
          {"p95_by_space", regret.p95_by_space}};
}

}  // namespace ak::profiler

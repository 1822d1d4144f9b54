// SPDX-License-Identifier: Apache-2.0
#include "app/simulation/simulation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "agent/search/clocked_replay.h"
#include "agent/search/draw.h"
#include "agent/seeds.h"

namespace ak::app {
namespace {

constexpr std::array<std::size_t, 2> kTimedAt{200, 2000};
constexpr double kNormal95 = 1.959964;  // two-sided quantile of the normal distribution

/// Calls `work(i)` for i below `count` on all cores; the first exception is thrown again.
template <class Work>
void in_parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr first;
  std::mutex mutex;
  const auto loop = [&] {
    try {
      for (std::size_t i; (i = next++) < count;) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(count, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(loop);
    loop();
  }
  if (first) std::rethrow_exception(first);
}

/// A run by evaluations, and where the plan has compile workers, one by the clock with the same seed.
struct Run : agent::Replay {
  agent::ClockTime clock{};
};

Run run_both(const NamedSpace& space, const agent::Strategy& strategy, std::uint64_t seed,
             const SimulationPlan& plan, const agent::EarlierSearches& earlier) {
  Run run{agent::replay(space.space, strategy, seed,
                        {.budget = plan.budget,
                         .target = kTargetFraction,
                         .devices = plan.devices,
                         .verdicts = plan.least_gain.has_value(),
                         .earlier = earlier})};
  if (plan.compile_workers > 0 && run.spent_s > 0)
    run.clock = agent::clocked_replay(space.space, strategy, seed, plan.budget, kTargetFraction,
                                      plan.compile_workers, earlier);
  return run;
}

bool same_tunables(const agent::ReplaySpace& a, const agent::ReplaySpace& b) {
  const auto names = [](const agent::ReplaySpace& space) {
    std::set<std::string> result;
    for (const TuningParameter& parameter : space.search_space()->parameters())
      if (parameter.values.size() > 1) result.insert(parameter.name);
    return result;
  };
  return names(a) == names(b);
}

/// What is known of `other` counts in runs of `space`.
bool counts(const NamedSpace& other, const NamedSpace& space, SimulatedPrior prior) {
  if (&other == &space || prior == SimulatedPrior::none) return false;
  return same_tunables(space.space, other.space) == (prior != SimulatedPrior::others);
}

/// The same answers with other times.
void mislead(agent::EarlierSearch& search, SimulatedPrior prior, std::uint64_t seed) {
  std::vector<double> times;
  for (const auto& answer : search.answers)
    if (answer.time_ns) times.push_back(*answer.time_ns);
  if (times.empty()) return;
  const auto [least, most] = std::ranges::minmax(times);
  agent::Engine engine(seed);
  agent::shuffle(engine, times);
  auto next = times.begin();
  for (auto& answer : search.answers)
    if (answer.time_ns)
      answer.time_ns = prior == SimulatedPrior::shuffled ? *next++ : least * most / *answer.time_ns;
}

/// What the runs begin with. Every repeat has searches of its own, so that no single one decides.
class Priors {
 public:
  Priors(const std::vector<NamedSpace>& spaces, const SimulationPlan& plan) : spaces_(spaces), plan_(plan) {
    if (plan.prior == SimulatedPrior::none) return;
    searches_.resize(spaces.size() * plan.repeats);
    in_parallel(searches_.size(), [&](std::size_t i) {
      const std::size_t space = i / plan.repeats, repeat = i % plan.repeats;
      const std::uint64_t seed = agent::derive_seed(agent::derive_seed(~plan.seed, space), repeat);
      searches_[i] =
          agent::answers_of(spaces[space].space, *agent::find_strategy("portfolio"), seed, plan.budget);
      searches_[i].device = spaces[space].name;
      if (plan.prior == SimulatedPrior::shuffled || plan.prior == SimulatedPrior::reversed)
        mislead(searches_[i], plan.prior, seed);
    });
  }

  [[nodiscard]] agent::EarlierSearches of(std::size_t space, std::size_t repeat) const {
    agent::EarlierSearches earlier;
    for (std::size_t other = 0; other < spaces_.size(); ++other)
      if (counts(spaces_[other], spaces_[space], plan_.prior))
        earlier.push_back(searches_[other * plan_.repeats + repeat]);
    return earlier;
  }

 private:
  const std::vector<NamedSpace>& spaces_;
  const SimulationPlan& plan_;
  std::vector<agent::EarlierSearch> searches_;  ///< by space, then by repeat
};

std::vector<ProposalTime> proposal_times(const std::vector<Run>& runs, std::size_t budget) {
  std::vector<ProposalTime> result;
  for (const std::size_t at : kTimedAt) {
    if (budget < at + at / 10) break;
    std::vector<double> us;
    for (const Run& run : runs)
      for (std::size_t i = at - at / 10; i < std::min(at + at / 10, run.proposal_ns.size()); ++i)
        us.push_back(run.proposal_ns[i] / 1e3);
    if (us.empty()) break;
    std::ranges::sort(us);
    const double sum = std::accumulate(us.begin(), us.end(), 0.0);
    result.push_back({at, sum / static_cast<double>(us.size()), us[us.size() * 99 / 100]});
  }
  return result;
}

StoppedRuns stopped_runs(const std::vector<Run>& runs, double least_gain) {
  StoppedRuns stopped;
  double verdicts = 0, count = 0;
  for (const Run& run : runs) {
    for (const auto& verdict : run.verdicts) {
      ++verdicts;
      stopped.all_wrong += verdict.left > verdict.gain.high ? 1 : 0;
      stopped.all_too_sure += verdict.left < verdict.gain.low ? 1 : 0;
      stopped.expected += verdict.gain.expected;
      stopped.all_left += verdict.left;
    }
    const auto last = std::ranges::find_if(
        run.verdicts, [&](const auto& verdict) { return verdict.gain.high <= least_gain; });
    if (last == run.verdicts.end()) continue;
    ++count;
    stopped.evaluations += static_cast<double>(last->evaluations);
    stopped.left += last->left;
    stopped.wrong += last->left > least_gain ? 1 : 0;
  }
  stopped.share = count / static_cast<double>(runs.size());
  for (double* mean : {&stopped.evaluations, &stopped.left, &stopped.wrong}) *mean /= std::max(count, 1.0);
  for (double* mean : {&stopped.all_wrong, &stopped.all_too_sure, &stopped.expected, &stopped.all_left})
    *mean /= std::max(verdicts, 1.0);
  return stopped;
}

SimulationRow summarize(const std::vector<Run>& runs, const SimulationPlan& plan) {
  const std::size_t budget = plan.budget;
  SimulationRow row;
  const auto count = static_cast<double>(runs.size());
  for (std::size_t at = 0; at < budget; ++at) {
    double sum = 0, squares = 0;
    for (const Run& run : runs) sum += run.fractions[at];
    const double mean = sum / count;
    for (const Run& run : runs) squares += (run.fractions[at] - mean) * (run.fractions[at] - mean);
    row.mean.push_back(mean);
    row.half_band.push_back(runs.size() < 2 ? 0 : kNormal95 * std::sqrt(squares / (count - 1) / count));
  }
  double spent = 0, successes = 0, asks = 0, serial_s = 0, parallel_s = 0, on_time = 0;
  for (const Run& run : runs) {
    spent += static_cast<double>(run.reached.value_or(budget));
    successes += run.reached ? 1 : 0;
    serial_s += run.spent_s;
    parallel_s += run.clock.spent_s;
    on_time += run.clock.reached ? 1 : 0;
    asks += static_cast<double>(run.proposal_ns.size());
    row.strategy_us += std::accumulate(run.proposal_ns.begin(), run.proposal_ns.end(), 0.0) / 1e3;
  }
  row.strategy_us /= std::max(asks, 1.0);
  row.proposal_times = proposal_times(runs, budget);
  row.success = successes / count;
  if (successes > 0) row.expected_evaluations = spent / successes;
  if (successes > 0 && serial_s > 0) row.serial_s = serial_s / successes;
  if (on_time > 0) row.parallel_s = parallel_s / on_time;
  if (plan.least_gain) row.stopped = stopped_runs(runs, *plan.least_gain);
  return row;
}

/// The means of the means, and the largest 99th percentile, of spaces that were searched for so long.
std::vector<ProposalTime> worst_times(const std::vector<SimulationRow>& rows) {
  std::vector<ProposalTime> result;
  for (std::size_t i = 0;; ++i) {
    double sum = 0, count = 0, most = 0;
    for (const SimulationRow& row : rows) {
      if (i >= row.proposal_times.size()) continue;
      sum += row.proposal_times[i].mean_us;
      ++count;
      most = std::max(most, row.proposal_times[i].percentile_99_us);
    }
    if (count == 0) return result;
    result.push_back({kTimedAt[i], sum / count, most});
  }
}

/// Over all runs that stopped: spaces in which none does count in no mean of them.
std::optional<StoppedRuns> all_stopped(const std::vector<SimulationRow>& rows) {
  if (!rows.front().stopped) return std::nullopt;
  StoppedRuns all;
  for (const SimulationRow& row : rows) {
    const StoppedRuns& own = *row.stopped;
    all.share += own.share;
    all.evaluations += own.share * own.evaluations;
    all.left += own.share * own.left;
    all.wrong += own.share * own.wrong;
    const auto count = static_cast<double>(rows.size());
    all.all_wrong += own.all_wrong / count;
    all.all_too_sure += own.all_too_sure / count;
    all.expected += own.expected / count;
    all.all_left += own.all_left / count;
  }
  for (double* mean : {&all.evaluations, &all.left, &all.wrong})
    if (all.share > 0) *mean /= all.share;
  all.share /= static_cast<double>(rows.size());
  return all;
}

/// Mean over spaces, each counting the same. The expected evaluations of a strategy that fails on one
/// space are unbounded.
SimulationRow aggregate(const std::vector<SimulationRow>& rows) {
  SimulationRow all{.space = "all", .strategy = rows.front().strategy};
  const auto count = static_cast<double>(rows.size());
  all.mean.assign(rows.front().mean.size(), 0);
  all.half_band = all.mean;
  all.expected_evaluations = 0;
  for (const SimulationRow& row : rows) {
    for (std::size_t at = 0; at < all.mean.size(); ++at) {
      all.mean[at] += row.mean[at] / count;
      all.half_band[at] = std::hypot(all.half_band[at], row.half_band[at] / count);
    }
    all.success += row.success / count;
    all.strategy_us += row.strategy_us / count;
    if (!row.expected_evaluations) all.expected_evaluations.reset();
    if (all.expected_evaluations) *all.expected_evaluations += *row.expected_evaluations / count;
  }
  all.proposal_times = worst_times(rows);
  all.stopped = all_stopped(rows);
  return all;
}

}  // namespace

std::vector<std::string> spaces_without_prior(const std::vector<NamedSpace>& spaces, SimulatedPrior prior) {
  std::vector<std::string> names;
  for (const NamedSpace& space : spaces)
    if (std::ranges::none_of(spaces, [&](const NamedSpace& other) { return counts(other, space, prior); }))
      names.push_back(space.name);
  return names;
}

std::vector<SimulationRow> simulate(const std::vector<NamedSpace>& spaces, const SimulationPlan& plan) {
  const std::size_t runs_a_strategy = spaces.size() * plan.repeats;
  std::vector<Run> runs(plan.strategies.size() * runs_a_strategy);
  const Priors priors(spaces, plan);
  in_parallel(runs.size(), [&](std::size_t i) {
    const std::size_t space = i % runs_a_strategy / plan.repeats, repeat = i % plan.repeats;
    const std::uint64_t seed = agent::derive_seed(agent::derive_seed(plan.seed, space), repeat);
    runs[i] =
        run_both(spaces[space], *plan.strategies[i / runs_a_strategy], seed, plan, priors.of(space, repeat));
  });
  std::vector<SimulationRow> rows;
  auto next = runs.begin();
  for (const agent::Strategy* strategy : plan.strategies) {
    std::vector<SimulationRow> of_strategy;
    for (const NamedSpace& space : spaces) {
      const auto end = next + static_cast<std::ptrdiff_t>(plan.repeats);
      SimulationRow row = summarize(std::vector<Run>(next, end), plan);
      row.space = space.name;
      row.strategy = strategy->name;
      of_strategy.push_back(std::move(row));
      next = end;
    }
    if (spaces.size() > 1) of_strategy.push_back(aggregate(of_strategy));
    rows.insert(rows.end(), of_strategy.begin(), of_strategy.end());
  }
  return rows;
}

}  // namespace ak::app

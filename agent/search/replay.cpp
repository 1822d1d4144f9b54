// SPDX-License-Identifier: Apache-2.0
#include "agent/search/replay.h"

#include <time.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/tuning/plan_space.h"

namespace ak::agent {
namespace {

// A strategy that proposes nothing new this many times in a row has nothing left.
constexpr int kMaxRepeats = 1000;

/// The parameter with integers for values, and a name in lower case.
TuningParameter with_integers(TuningParameter parameter) {
  for (char& letter : parameter.name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  const bool integers = std::ranges::all_of(
      parameter.values, [](const TuningValue& value) { return std::holds_alternative<std::int64_t>(value); });
  for (std::size_t i = 0; !integers && i < parameter.values.size(); ++i)
    parameter.values[i] = static_cast<std::int64_t>(i);
  return parameter;
}

/// A point in flight.
struct Asked {
  TunableValues point;
  double ask_ns = 0;
};

/// CPU time of this thread: others on the machine do not count, as they would by a clock on the wall.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

ReplaySpace::ReplaySpace(const MeasuredSpace& measured) {
  const std::optional<double> best = measured.best_ns();
  AK_ASSERT(best.has_value(), "a space in which every point failed cannot be searched");
  best_ns_ = *best;
  std::vector<TuningParameter> parameters;
  for (const TuningParameter& parameter : measured.parameters) parameters.push_back(with_integers(parameter));
  std::vector<TuningPoint> points;
  for (const MeasuredPoint& point : measured.points) points.push_back(point.point);
  std::ranges::sort(points);
  space_ = std::make_shared<TunableSpace>(TunableSpace::of_points(std::move(parameters), points));
  for (const MeasuredPoint& point : measured.points) {
    const Spent spent{point.compile_ms.value_or(0) / 1e3, point.benchmark_ms.value_or(0) / 1e3};
    records_.emplace(tunables_of(*space_, point.point), Record{point.time_ns, spent});
  }
}

std::optional<double> ReplaySpace::time_ns(const TunableValues& point) const {
  const auto found = records_.find(point);
  return found == records_.end() ? std::nullopt : found->second.time_ns;
}

ReplaySpace::Spent ReplaySpace::spent(const TunableValues& point) const {
  const auto found = records_.find(point);
  return found == records_.end() ? Spent{} : found->second.spent;
}

Replay replay(const ReplaySpace& space, const Strategy& entry, std::uint64_t seed, const ReplayPlan& plan) {
  Replay run;
  const auto strategy = entry.make(space.search_space(), seed, plan.earlier);
  std::set<TunableValues> seen;
  std::deque<Asked> in_flight;
  std::optional<double> best;
  for (int repeats = 0; run.fractions.size() < plan.budget && repeats < kMaxRepeats;) {
    while (in_flight.size() < plan.devices) {
      const double asked_ns = thread_ns();
      auto point = strategy->ask();
      if (!point) break;
      in_flight.push_back({std::move(*point), thread_ns() - asked_ns});
    }
    if (in_flight.empty()) break;
    const auto [point, ask_ns] = std::move(in_flight.front());
    in_flight.pop_front();
    const std::optional<double> time_ns = space.time_ns(point);
    const double told_ns = thread_ns();
    strategy->tell(point, time_ns);
    run.proposal_ns.push_back(thread_ns() - told_ns + ask_ns);
    if (!seen.insert(point).second) {
      ++repeats;
      continue;
    }
    repeats = 0;
    const auto [compile_s, benchmark_s] = space.spent(point);
    if (!run.reached) run.spent_s += compile_s + benchmark_s;
    if (time_ns && (!best || *time_ns < *best)) best = time_ns;
    run.fractions.push_back(best ? space.best_ns() / *best : 0);
    if (!run.reached && run.fractions.back() >= plan.target) run.reached = run.fractions.size();
    if (!plan.verdicts || !best || run.fractions.size() % kJudgedEvery != 0) continue;
    if (const auto chances = strategy->gain_chances(*best))
      run.verdicts.push_back({run.fractions.size(), summary_of(*chances), 1 - run.fractions.back()});
  }
  run.fractions.resize(plan.budget, run.fractions.empty() ? 0 : run.fractions.back());
  return run;
}

EarlierSearch answers_of(const ReplaySpace& space, const Strategy& entry, std::uint64_t seed,
                         std::size_t budget) {
  EarlierSearch search;
  const auto strategy = entry.make(space.search_space(), seed, {});
  while (search.answers.size() < budget) {
    const auto point = strategy->ask();
    if (!point) break;
    const std::optional<double> time_ns = space.time_ns(*point);
    strategy->tell(*point, time_ns);
    search.answers.push_back({*point, time_ns});
  }
  return search;
}

}  // namespace ak::agent

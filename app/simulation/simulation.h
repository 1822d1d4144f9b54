// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/search/replay.h"

namespace ak::app {

/// Share of the optimum a run has to reach to count as successful.
inline constexpr double kTargetFraction = 0.95;

/// What the runs of a space know beforehand: of the other spaces that are given, the answers of one search each.
enum class SimulatedPrior : std::uint8_t {
  none,
  kernel,    ///< of spaces with the same tunables: the kernel on other devices
  others,    ///< of spaces with other tunables
  shuffled,  ///< as `kernel`, the times of each search in a random order
  reversed   ///< as `kernel`, the fastest point is the slowest
};

struct SimulationPlan {
  std::vector<const agent::Strategy*> strategies;
  std::size_t repeats = 100, budget = 220;
  std::uint64_t seed = 1;
  SimulatedPrior prior = SimulatedPrior::none;
  std::size_t compile_workers = 0;  ///< of the machine that is replayed by the clock as well; 0: none
  std::size_t devices = 1;          ///< agent::ReplayPlan::devices
  std::optional<double> least_gain =
      {};  ///< agent::Budgets::least_gain of searches that are stopped so; nothing: none are
};

struct NamedSpace {
  std::string name;
  agent::ReplaySpace space;
};

/// Host time a proposal takes in runs of about `evaluations` (within a tenth).
struct ProposalTime {
  std::size_t evaluations = 0;
  double mean_us = 0, percentile_99_us = 0;
};

/// What came of runs that stop as soon as they say that they can gain no more than SimulationPlan::least_gain.
struct StoppedRuns {
  double share =
      0;  ///< of all runs, that stopped within the budget; the others count in nothing that follows
  double evaluations = 0;  ///< when they stopped, mean
  double left = 0;         ///< what they could have gained, mean
  double wrong = 0;        ///< share of those that could have gained more than they said
  double all_wrong =
      0;  ///< share of all verdicts of all runs, whether they stopped or not, that said too little
  double all_too_sure = 0;  ///< share of all that said that more can be gained than could
  double expected = 0,
         all_left = 0;  ///< means over all verdicts: what they expected, and what could be gained
};

/// What the runs of one strategy gave, over one space or over all.
struct SimulationRow {
  std::string space{};  ///< "all" for the mean over spaces
  std::string strategy;
  std::vector<double> mean{};       ///< of the fraction of the optimum, after 1, 2, ... evaluations
  std::vector<double> half_band{};  ///< half width of the 95 % interval of that mean
  double success = 0;               ///< share of runs that reached kTargetFraction
  /// Evaluations of all runs up to their success or the budget, over the successful runs; none: no success.
  std::optional<double> expected_evaluations{};
  /// Seconds of all runs up to their success or the budget, over the successful runs: building and timing one
  /// after the other, and with compile_workers. None: no success, or builds' times were not recorded.
  std::optional<double> serial_s{}, parallel_s{};
  std::optional<StoppedRuns> stopped{};        ///< where the plan has a least gain
  double strategy_us = 0;                      ///< host time a proposal, over all of them
  std::vector<ProposalTime> proposal_times{};  ///< at 200 and 2,000 evaluations, where the budget goes beyond
};

/// Names of the spaces whose runs know nothing beforehand, as no other of `spaces` is of the kind that `prior` asks for.
[[nodiscard]] std::vector<std::string> spaces_without_prior(const std::vector<NamedSpace>& spaces,
                                                            SimulatedPrior prior);

/// Rows by strategy: one a space, then, with several spaces, one for all. Runs are spread over the cores; all
/// but host times follows from the seed. Run number r of a space has the same seed under every strategy.
[[nodiscard]] std::vector<SimulationRow> simulate(const std::vector<NamedSpace>& spaces,
                                                  const SimulationPlan& plan);

}  // namespace ak::app

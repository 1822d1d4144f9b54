// SPDX-License-Identifier: Apache-2.0
// Which changes of times a check of a library names, and how often it is wrong.
#include "core/learn/regressions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace ak;

namespace {

// As experiments/results/2026-11-23_h200_turns and 2026-11-24_h200_baselines recorded them: from round to round a ratio
// varies by 0.1 % (a large product) to 1.9 % (a product whose operands move), and 24 rounds are taken.
constexpr double kLeastOfRounds = 0.001, kMostOfRounds = 0.019;
constexpr int kRounds = 24;
// Points of Student's t for 95 % and 23 degrees of freedom, by which turns.py makes its intervals.
constexpr double kStudent23 = 2.069;

/// Members of a library with the noise of each.
class MadeLibrary {
 public:
  explicit MadeLibrary(std::size_t members) : spread_(members) {
    for (double& one : spread_) {
      std::uniform_real_distribution<double> exponent(std::log(kLeastOfRounds), std::log(kMostOfRounds));
      one = std::exp(exponent(random_));
    }
  }

  /// Ratios of one run: what the run itself adds is common to its rounds.
  TimeChange measured(std::size_t member, double true_log) {
    std::normal_distribution<double> run(true_log, kBetweenRuns / std::sqrt(2.0)), round(0, spread_[member]);
    const double common = run(random_);
    double sum = 0, squares = 0;
    for (int i = 0; i < kRounds; ++i) {
      const double one = common + round(random_);
      sum += one;
      squares += one * one;
    }
    const double mean = sum / kRounds;
    const double deviation = std::sqrt((squares - kRounds * mean * mean) / (kRounds - 1));
    const double half = kStudent23 * deviation / std::sqrt(kRounds);
    return change_of(std::exp(mean), {std::exp(mean - half), std::exp(mean + half)}, 0.95);
  }

  /// A check as the program does it. @param slower  the first member's true change since then
  std::vector<bool> check(double slower) {
    std::vector<TimeChange> then, changes;
    for (std::size_t i = 0; i < spread_.size(); ++i) {
      then.push_back(measured(i, 0));
      changes.push_back(change_since(measured(i, i == 0 ? slower : 0), then.back()));
    }
    std::vector<bool> named = suspects(changes);
    for (std::size_t i = 0; i < named.size(); ++i)
      if (named[i]) named[i] = confirms(change_since(measured(i, i == 0 ? slower : 0), then[i]));
    return named;
  }

 private:
  std::mt19937_64 random_{20261127};
  std::vector<double> spread_;
};

bool any(const std::vector<bool>& list) { return std::ranges::find(list, true) != list.end(); }

}  // namespace

TEST_CASE("a library in which nothing changed is called slower in at most one check of a hundred") {
  for (const std::size_t members : {std::size_t{5}, std::size_t{60}}) {
    MadeLibrary library(members);
    constexpr int kChecks = 2000;
    int alarms = 0;
    for (int i = 0; i < kChecks; ++i) alarms += any(library.check(0)) ? 1 : 0;
    CAPTURE(members, alarms);
    CHECK(alarms <= kChecks / 100);
  }
}

TEST_CASE(
    "a member that lost four per cent is named nearly always, and one that lost one per cent hardly ever") {
  MadeLibrary library(60);
  constexpr int kChecks = 200;
  int large = 0, small = 0;
  for (int i = 0; i < kChecks; ++i) {
    large += library.check(std::log(1.04))[0] ? 1 : 0;
    small += library.check(std::log(1.01))[0] ? 1 : 0;
  }
  CHECK(large >= kChecks * 9 / 10);
  CHECK(small <= kChecks / 20);
}

TEST_CASE("what is large by chance alone is no suspect, nor what is sure and small") {
  const std::vector<TimeChange> changes{{.log_ratio = std::log(1.05), .deviation = 0.03},
                                        {.log_ratio = std::log(1.015), .deviation = 0.001},
                                        {.log_ratio = std::log(1.03), .deviation = 0.001},
                                        {.log_ratio = std::log(0.9), .deviation = 0.001}};
  CHECK(suspects(changes) == std::vector<bool>{false, false, true, false});
}

TEST_CASE("the more changes a check has, the surer each has to be") {
  const TimeChange doubtful{.log_ratio = std::log(1.03), .deviation = std::log(1.03) / 2.6};
  CHECK(suspects(std::vector{doubtful}) == std::vector<bool>{true});
  std::vector<TimeChange> many(20, TimeChange{.log_ratio = 0, .deviation = 0.01});
  many.push_back(doubtful);
  CHECK_FALSE(suspects(many).back());
  CHECK(confirms(doubtful));
}

TEST_CASE("an interval without a width is not taken for certainty") {
  CHECK(change_of(1, {1, 1}, 0.95).deviation > 0);
}

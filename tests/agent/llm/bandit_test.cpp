// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/bandit.h"

#include <catch2/catch.hpp>
#include <vector>

namespace ak::agent {
namespace {

const std::vector<std::string> kArms{"a", "b", "c"};

/// Pulls `times` times an arm chosen by the bandit; returns how often each was.
std::vector<int> pull(Bandit& bandit, int times, std::vector<double> rewards, std::vector<double> costs) {
  std::vector<int> pulls(kArms.size());
  for (int i = 0; i < times; ++i) {
    const std::size_t arm = bandit.choose(kArms);
    ++pulls[arm];
    bandit.credit(kArms[arm], rewards[arm], costs[arm]);
  }
  return pulls;
}

TEST_CASE("every arm is tried in its order before one is tried again") {
  Bandit bandit;
  CHECK(bandit.choose(kArms) == 0);
  bandit.credit("a", 1, 1);
  CHECK(bandit.choose(kArms) == 1);
  bandit.credit("b", 0, 1);
  CHECK(bandit.choose(kArms) == 2);
}

TEST_CASE("the arm that pays is pulled most, and the others are not forgotten") {
  Bandit bandit;
  const auto pulls = pull(bandit, 100, {0.1, 0.6, 0.1}, {1, 1, 1});
  CHECK(pulls[1] > 60);
  CHECK(pulls[0] >= 3);
  CHECK(pulls[2] >= 3);
}

TEST_CASE("of arms that pay the same the cheap one is pulled") {
  Bandit bandit;
  const auto pulls = pull(bandit, 100, {0.4, 0.4, 0.4}, {8, 1, 8});
  CHECK(pulls[1] > 80);
}

TEST_CASE("an arm that has stopped to pay is left for one that pays now") {
  Bandit bandit;
  static_cast<void>(pull(bandit, 50, {0.8, 0.1, 0}, {1, 1, 1}));
  const auto pulls = pull(bandit, 100, {0, 0.5, 0}, {1, 1, 1});
  CHECK(pulls[1] > 50);
}

TEST_CASE("a reward that comes later counts for the arm, and where nothing is paid costs do not count") {
  Bandit bandit;
  for (const std::string& arm : kArms) bandit.credit(arm, 0.1, 0);
  bandit.add_reward("c", 0.5);
  bandit.add_reward("never pulled", 1);
  CHECK(bandit.choose(kArms) == 2);
}

}  // namespace
}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/reward.h"

#include <catch2/catch.hpp>

#include "tests/agent/llm/question_samples.h"

namespace ak::agent {
namespace {

TEST_CASE("a reward grows from the lead to a gain of a tenth, and coming close is worth a little") {
  const auto reward = [](double score_ns) {
    return reward_of(test::passed_attempt("source", score_ns), 1'000);
  };
  CHECK(reward(500) == 1);
  CHECK(reward(900) == Approx(1));
  CHECK(reward(950) == Approx(0.75));
  CHECK(reward(999.999) == Approx(kLeadReward).epsilon(0.001));
  CHECK(reward(1'000) == kCloseReward);
  CHECK(reward(1'250) == kCloseReward);
  CHECK(reward(1'251) == 0);
}

TEST_CASE("what failed is worth nothing, and what nothing can be compared with a little") {
  Attempt failed = test::passed_attempt("source", 1);
  failed.passed = false;
  CHECK(reward_of(failed, 1'000) == 0);
  CHECK(reward_of(test::passed_attempt("source", 500), std::nullopt) == kCloseReward);
  Attempt untimed = test::passed_attempt("source", 1);
  untimed.score_ns.reset();
  CHECK(reward_of(untimed, 1'000) == kCloseReward);
}

}  // namespace
}  // namespace ak::agent

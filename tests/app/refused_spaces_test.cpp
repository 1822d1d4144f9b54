// SPDX-License-Identifier: Apache-2.0
// What --set and port do with kernels whose space is refused (core/tuning/plan_space.h).
#include <catch2/catch.hpp>

#include "app/search/fixed_tunables.h"
#include "app/search/porting.h"
#include "core/error.h"
#include "runtime/build/candidate_plan.h"
#include "tests/support/refused_space.h"
#include "tests/support/tiny_problem.h"

namespace ak::app {
namespace {

const Arch kTarget{9, 0, 'a'};

/// Of vectors added: a kernel with the tunable X.
Candidate tuned_candidate(const std::string& name, bool refused) {
  Candidate candidate =
      test::make_candidate(name, test::elementwise_plan("add"),
                           "__global__ void add(const float* a, const float* b, float* c, long long n) {}");
  candidate.plan.tunables.push_back({.name = "X", .values = {1, 2, 4}, .default_value = 1});
  candidate.tunables["X"] = 1;
  if (refused) test::add_refused_tunables(candidate);
  return candidate;
}

TEST_CASE("--set leaves out a template whose space is refused, and keeps the others") {
  std::vector<Candidate> candidates{tuned_candidate("refused", true), tuned_candidate("small", false)};
  keep_fixed(candidates, 0, {{"X", {2}}}, {}, kTarget);
  REQUIRE(candidates.size() == 1);
  CHECK(candidates[0].name == "small");
  CHECK(candidates[0].tunables.at("X") == 2);
  std::vector<Candidate> alone{tuned_candidate("refused", true)};
  CHECK_THROWS_WITH(keep_fixed(alone, 0, {{"X", {2}}}, {}, kTarget),
                    Catch::Contains("refused is left out: the constraints distinguish too many beginnings"));
}

TEST_CASE("--set keeps the own point of a kernel whose space is refused where that has the values") {
  std::vector<Candidate> candidates{tuned_candidate("refused", true)};
  keep_fixed(candidates, 0, {{"X", {1, 4}}}, {}, kTarget);
  REQUIRE(candidates.size() == 1);
  CHECK(candidates[0].tunables.at("X") == 1);
}

TEST_CASE("a kernel whose space is refused is ported with its own point, or with the reason not at all") {
  const auto problem = test::make_problem({});
  const DeviceFacts device = runtime::emulated_device_facts(kTarget);
  Candidate candidate = tuned_candidate("refused", true);
  CHECK(nearest_point(candidate, *problem, device, kTarget).value() == candidate.tunables);
  candidate.tunables["X"] = 3;  // no value of it
  const auto none = nearest_point(candidate, *problem, device, kTarget);
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message, Catch::StartsWith("the constraints distinguish too many beginnings"));
  CHECK(nearest_point(tuned_candidate("small", false), *problem, device, kTarget).value().at("X") == 1);
}

}  // namespace
}  // namespace ak::app

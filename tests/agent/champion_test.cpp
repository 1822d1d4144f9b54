// SPDX-License-Identifier: Apache-2.0
#include "agent/champion.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

using test::built;
using test::failed;
using test::timed;

Completed completed(EvaluationResult result, std::vector<Workload> workloads = {}) {
  Completed c;
  c.request.problem = test::make_problem(std::move(workloads));
  c.result = std::move(result);
  return c;
}

Completed in_pairs(double challenger_ns, double champion_ns) {
  return completed(test::timed_in_pairs(challenger_ns, champion_ns));
}

TEST_CASE("where costs are exact a challenger needs half a percent") {
  Champion champion(Depth::time, false);
  REQUIRE(champion.offer(completed(timed(1000)), 0, 10) == OfferResult::leads);
  CHECK(champion.offer(completed(timed(996)), 1, 11) == OfferResult::behind);
  CHECK(champion.variant() == 10);
  CHECK(champion.offer(completed(timed(994)), 2, 12) == OfferResult::leads);
  CHECK(champion.variant() == 12);
  CHECK(champion.score_ns() == 994);
  CHECK(champion.offer(completed(timed(2000)), 3, 13) == OfferResult::behind);
}

/// A prediction of `score_ns` with an interval of a tenth to both sides.
PredictedScore predicted(double score_ns) {
  return {.model = "m",
          .score = Nanoseconds(score_ns),
          .low = Nanoseconds(0.9 * score_ns),
          .high = Nanoseconds(1.1 * score_ns),
          .times = {}};
}

/// Offers candidates of (predicted time, cost) and returns which leads in the end, by its place.
RowId leader_of(const std::vector<std::pair<double, double>>& candidates) {
  Champion champion(Depth::time, false);
  int i = 0;
  for (const auto& [time_ns, cost_ns] : candidates) {
    const RowId before = champion.variant().value_or(-1);
    const OfferResult result = champion.offer(completed(timed(cost_ns)), i, i, predicted(time_ns));
    CHECK((result == OfferResult::leads) == (champion.variant() != before));
    ++i;
  }
  return *champion.variant();
}

TEST_CASE("where times are predicted the lowest leads, whatever the costs of the clearly slower are") {
  CHECK(leader_of({{2000, 100}, {1000, 900}, {1500, 50}}) == 1);
  CHECK(leader_of({{1000, 900}, {2000, 100}}) == 0);
}

TEST_CASE("of those whose predicted time lies in the interval of the lowest, the lowest cost leads") {
  CHECK(leader_of({{1000, 900}, {1090, 800}, {1200, 100}}) == 1);
  CHECK(leader_of({{1090, 800}, {1000, 900}}) == 0);
  // equal costs say nothing: the prediction does
  CHECK(leader_of({{1090, 900}, {1000, 900}, {1050, 898}}) == 1);
}

TEST_CASE("a faster one narrows down who is tied, in whatever order they come") {
  // 1090 is tied with 1000 and leads by its cost, but not with 950, which 1000 is tied with
  CHECK(leader_of({{1000, 800}, {1090, 700}, {950, 900}}) == 0);
  CHECK(leader_of({{950, 900}, {1090, 700}, {1000, 800}}) == 2);
}

TEST_CASE(
    "what nothing is predicted of comes after what is, and a wrong leader is followed by the next of the "
    "rule") {
  Champion champion(Depth::time, false);
  REQUIRE(champion.offer(completed(timed(10)), 0, 10) == OfferResult::leads);
  REQUIRE(champion.offer(completed(timed(900)), 1, 11, predicted(1000)) == OfferResult::leads);
  REQUIRE(champion.offer(completed(timed(800)), 2, 12, predicted(1050)) == OfferResult::leads);
  CHECK(champion.offer(completed(timed(5)), 3, 13) == OfferResult::behind);
  CHECK(champion.predicted()->score.value() == 1050);
  CHECK(champion.score_ns() == 800);
  champion.disqualify();
  CHECK(champion.variant() == 11);
  champion.disqualify();
  CHECK(champion.variant() == 13);
  CHECK(champion.predicted() == nullptr);
}

TEST_CASE("where times are noisy a challenger leads once it won in pairs, and no sooner") {
  Champion champion(Depth::time, true);
  REQUIRE(champion.offer(completed(timed(1000)), 0, 10) == OfferResult::leads);
  CHECK(champion.next_challenger() == nullptr);
  CHECK(champion.offer(completed(timed(996)), 1, 11) == OfferResult::behind);
  REQUIRE(champion.offer(completed(timed(900)), 2, 12) == OfferResult::challenges);
  CHECK(champion.variant() == 10);
  REQUIRE(champion.next_challenger() != nullptr);
  CHECK_FALSE(champion.settle(judge_pairs(in_pairs(1010, 1000))));
  CHECK(champion.variant() == 10);
  REQUIRE(champion.offer(completed(timed(930)), 3, 13) == OfferResult::challenges);
  REQUIRE(champion.next_challenger() != nullptr);
  CHECK(champion.settle(judge_pairs(in_pairs(950, 1000))));
  CHECK(champion.variant() == 13);
  CHECK(*champion.score_ns() == Approx(950).epsilon(0.01));  // by the pairs, not the lucky 930
}

TEST_CASE("challenges are settled fastest first, and one that no longer seems faster is dropped") {
  Champion champion(Depth::time, true);
  REQUIRE(champion.offer(completed(timed(1000)), 0, 10) == OfferResult::leads);
  for (const auto& [score_ns, variant] : {std::pair(950.0, 11), std::pair(800.0, 12), std::pair(700.0, 13)})
    REQUIRE(champion.offer(completed(timed(score_ns)), variant, variant) == OfferResult::challenges);
  CHECK(champion.next_challenger()->result.score_ns == 700);
  CHECK_FALSE(champion.settle(std::nullopt));  // it came to no verdict
  CHECK(champion.next_challenger()->result.score_ns == 800);
  CHECK(champion.settle(judge_pairs(in_pairs(800, 1000))));
  CHECK(champion.next_challenger() == nullptr);
  CHECK(champion.variant() == 12);
}

TEST_CASE(
    "at the end those race whose only time cannot tell them from the champion, and the faster one leads") {
  Champion champion(Depth::time, true);
  CHECK(champion.offer(completed(timed(1000)), 0, 10) == OfferResult::leads);
  CHECK(champion.offer(completed(timed(1030, 0.05)), 1, 11) == OfferResult::behind);   // it was unlucky
  CHECK(champion.offer(completed(timed(1020, 0.001)), 2, 12) == OfferResult::behind);  // it is slower
  CHECK(champion.next_challenger() == nullptr);
  champion.race();
  const Completed* challenger = champion.next_challenger();
  REQUIRE(challenger != nullptr);
  CHECK(challenger->result.score_ns == 1030);
  CHECK(champion.settle(judge_pairs(in_pairs(950, 1000))));
  CHECK(champion.variant() == 11);
  CHECK(champion.next_challenger() == nullptr);
  // Who was timed in pairs is not again, but the one that led may be.
  champion.race();
  CHECK(champion.next_challenger() == nullptr);
}

TEST_CASE("no more than a few race, and none where costs are exact") {
  for (const bool noisy : {true, false}) {
    Champion champion(Depth::time, noisy);
    for (int i = 0; i < 8; ++i) static_cast<void>(champion.offer(completed(timed(1000 + i, 0.1)), i, i));
    champion.race();
    std::size_t raced = 0;
    for (; champion.next_challenger() != nullptr; ++raced) CHECK_FALSE(champion.settle(std::nullopt));
    CHECK(raced == (noisy ? Champion::kMaxRaced : 0));
  }
}

TEST_CASE("a verdict needs half a percent beyond noise") {
  CHECK(judge_pairs(in_pairs(970, 1000))->faster);
  CHECK_FALSE(judge_pairs(in_pairs(998, 1000))->faster);
  CHECK_FALSE(judge_pairs(in_pairs(1000, 1000))->faster);
  CHECK(judge_pairs(in_pairs(970, 1000))->text().find("% faster in pairs (99 % interval") !=
        std::string::npos);
  CHECK_FALSE(judge_pairs(completed(failed(Status::hang))));
  CHECK_FALSE(judge_pairs(completed(timed(1000))));
}

TEST_CASE("pairs that were throttled say nothing where the others are the more") {
  Completed pairs = in_pairs(950, 1000);
  for (Measurement& m : pairs.result.measurements) {
    for (std::uint32_t i = 0; i < 15; ++i) m.throttled.push_back(i);
  }
  for (std::uint32_t i = 0; i < 15; ++i) pairs.result.measurements[0].samples_ns[i] = 5'000;
  CHECK(judge_pairs(pairs)->faster);
  for (Measurement& m : pairs.result.measurements) m.throttled.clear();
  CHECK_FALSE(judge_pairs(pairs)->faster);
}

TEST_CASE("the times of workloads are combined by their weights") {
  const std::vector<Workload> workloads{{.name = "big", .uid = {}, .axes = {}, .roles = {}, .weight = 3},
                                        {.name = "small", .uid = {}, .axes = {}, .roles = {}, .weight = 1}};
  EvaluationResult result = test::timed_in_pairs(900, 1000);
  const EvaluationResult other = test::timed_in_pairs(1200, 1000);
  result.measurements.insert(result.measurements.end(), other.measurements.begin(), other.measurements.end());
  for (std::size_t i = 0; i < 4; ++i) result.measurements[i].workload = i < 2 ? "big" : "small";
  const auto verdict = judge_pairs(completed(result, workloads));
  CHECK(verdict->ratio.ratio == Approx(std::pow(0.9, 0.75) * std::pow(1.2, 0.25)).epsilon(0.005));
  CHECK(verdict->faster);
}

TEST_CASE(
    "failures, builds that were not executed and empty duplicates never lead; a duplicate with times may") {
  Champion champion(Depth::time, false);
  for (const Status status :
       {Status::incorrect, Status::compile_error, Status::below_floor, Status::interrupted,
        Status::compiled_only, Status::duplicate, Status::infrastructure_error}) {
    CHECK(champion.offer(completed(failed(status)), 0, 1) == OfferResult::behind);
  }
  EvaluationResult impossible = timed(1);
  impossible.outcome.status = Status::below_floor;  // measured, and refused for it
  CHECK(champion.offer(completed(impossible), 1, 2) == OfferResult::behind);
  EvaluationResult duplicate = timed(500);
  duplicate.outcome.status = Status::duplicate;
  CHECK(champion.offer(completed(duplicate), 2, 3) == OfferResult::leads);
  CHECK(champion.score_ns() == 500);
}

TEST_CASE("with checks only, the first verified candidate stays") {
  Champion champion(Depth::check, true);
  CHECK(champion.offer(completed(failed(Status::incorrect)), 0, 9) == OfferResult::behind);
  CHECK(champion.offer(completed(timed(1000)), 1, 10) == OfferResult::leads);
  CHECK(champion.offer(completed(timed(10)), 2, 11) == OfferResult::behind);
}

TEST_CASE("builds are ranked by spills, occupancy, registers and order of proposal, however they arrive") {
  struct Entry {
    int registers, spills;
    double occupancy;
  };
  // Best first.
  const std::vector<Entry> ranked{{64, 0, 0.75}, {64, 0, 0.75}, {72, 0, 0.75}, {32, 0, 0.5}, {24, 8, 1.0}};
  std::vector<int> arrival{0, 1, 2, 3, 4};
  do {
    Champion champion(Depth::build, true);
    for (const int i : arrival) {
      const Entry& e = ranked[static_cast<std::size_t>(i)];
      (void)champion.offer(completed(built(e.registers, e.spills, e.occupancy)), i, i);
    }
    REQUIRE(champion.variant() == 0);
  } while (std::next_permutation(arrival.begin(), arrival.end()));
}

TEST_CASE("a disqualified champion is followed by the lowest score, also of those that never led") {
  Champion champion(Depth::time, false);
  REQUIRE(champion.offer(completed(timed(1000)), 0, 10) == OfferResult::leads);
  REQUIRE(champion.offer(completed(timed(500)), 1, 11) == OfferResult::leads);
  CHECK(champion.offer(completed(timed(700)), 2, 12) == OfferResult::behind);
  CHECK(champion.offer(completed(failed(Status::incorrect)), 3, 13) == OfferResult::behind);
  for (const RowId next : {11, 12, 10}) {
    CHECK(champion.variant() == next);
    REQUIRE(champion.best());
    champion.disqualify();
  }
  CHECK(champion.best() == nullptr);
  CHECK_FALSE(champion.variant());
}

TEST_CASE("so many of a template are kept to follow a champion: the best") {
  Champion champion(Depth::time, false);
  for (int i = 0; i < 100; ++i) static_cast<void>(champion.offer(completed(timed(1000 + i)), i, 10 + i));
  Completed other = completed(timed(5000));
  other.request.candidate.name = "another";
  CHECK(champion.offer(other, 100, 200) == OfferResult::behind);
  for (int i = 0; i < Champion::kKeptOfTemplate; ++i) {
    CHECK(champion.score_ns() == 1000 + i);
    champion.disqualify();
  }
  CHECK(champion.variant() == 200);
}

}  // namespace
}  // namespace ak::agent

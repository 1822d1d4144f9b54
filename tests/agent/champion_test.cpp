// SPDX-License-Identifier: Apache-2.0
#include "agent/champion.h"

#include <catch2/catch.hpp>

#include "virtual_world.h"

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

Measurement measurement(std::string workload, double low, double high) {
  Measurement m;
  m.workload = std::move(workload);
  m.ci_low_ns = low;
  m.ci_high_ns = high;
  return m;
}

TEST_CASE("a timed challenger needs half a percent and an interval clear of the champion's") {
  Champion champion(Depth::time);
  REQUIRE(champion.offer(completed(timed(1000)), 0, 10));
  CHECK_FALSE(champion.offer(completed(timed(996, 0.0001)), 1, 11));  // 0.4 % faster
  CHECK_FALSE(
      champion.offer(completed(timed(990, 0.02)), 2, 12));  // 1 % faster, but 970 to 1010 meets 999 to 1001
  CHECK(champion.variant() == 10);
  CHECK(champion.offer(completed(timed(994, 0.0001)), 3, 13));
  CHECK(champion.variant() == 13);
  CHECK(champion.score_ns() == 994);
  CHECK_FALSE(champion.offer(completed(timed(2000)), 4, 14));
}

TEST_CASE("the intervals of workloads are combined by their weights, baselines left out") {
  const std::vector<Workload> workloads{{.name = "big", .uid = {}, .axes = {}, .roles = {}, .weight = 3},
                                        {.name = "small", .uid = {}, .axes = {}, .roles = {}, .weight = 1}};
  const auto result = [](double score, double big_high, double small_high) {
    EvaluationResult r = timed(score);
    Measurement baseline = measurement("big", 1e6, 1e6);
    baseline.role = MeasurementRole::baseline;
    r.measurements = {baseline, measurement("big", 900, big_high), measurement("small", 900, small_high)};
    return r;
  };
  const EvaluationResult first = result(1000, 1100, 1100);  // lower bound: 900
  {
    Champion champion(Depth::time);
    REQUIRE(champion.offer(completed(first, workloads), 0, 10));
    // 850^(3/4) * 1060^(1/4) = 898 < 900; with equal weights it would be 949.
    CHECK(champion.offer(completed(result(890, 850, 1060), workloads), 1, 11));
  }
  Champion champion(Depth::time);
  REQUIRE(champion.offer(completed(first, workloads), 0, 10));
  CHECK_FALSE(champion.offer(completed(result(890, 1060, 850), workloads), 1, 11));
}

TEST_CASE(
    "failures, builds that were not executed and empty duplicates never lead; a duplicate with times may") {
  Champion champion(Depth::time);
  for (const Status status :
       {Status::incorrect, Status::compile_error, Status::below_floor, Status::interrupted,
        Status::compiled_only, Status::duplicate, Status::infrastructure_error}) {
    CHECK_FALSE(champion.offer(completed(failed(status)), 0, 1));
  }
  EvaluationResult impossible = timed(1);
  impossible.outcome.status = Status::below_floor;  // measured, and refused for it
  CHECK_FALSE(champion.offer(completed(impossible), 1, 2));
  EvaluationResult duplicate = timed(500);
  duplicate.outcome.status = Status::duplicate;
  CHECK(champion.offer(completed(duplicate), 2, 3));
  CHECK(champion.score_ns() == 500);
}

TEST_CASE("with checks only, the first verified candidate stays") {
  Champion champion(Depth::check);
  CHECK_FALSE(champion.offer(completed(failed(Status::incorrect)), 0, 9));
  CHECK(champion.offer(completed(timed(1000)), 1, 10));
  CHECK_FALSE(champion.offer(completed(timed(10)), 2, 11));
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
    Champion champion(Depth::build);
    for (const int i : arrival) {
      const Entry& e = ranked[static_cast<std::size_t>(i)];
      (void)champion.offer(completed(built(e.registers, e.spills, e.occupancy)), i, i);
    }
    REQUIRE(champion.variant() == 0);
  } while (std::next_permutation(arrival.begin(), arrival.end()));
}

TEST_CASE("a disqualified champion is followed by the lowest score, also of those that never led") {
  Champion champion(Depth::time);
  REQUIRE(champion.offer(completed(timed(1000)), 0, 10));
  REQUIRE(champion.offer(completed(timed(500)), 1, 11));
  CHECK_FALSE(champion.offer(completed(timed(700)), 2, 12));
  CHECK_FALSE(champion.offer(completed(failed(Status::incorrect)), 3, 13));
  for (const RowId next : {11, 12, 10}) {
    CHECK(champion.variant() == next);
    REQUIRE(champion.best());
    champion.disqualify();
  }
  CHECK(champion.best() == nullptr);
  CHECK_FALSE(champion.variant());
}

TEST_CASE("so many of a template are kept to follow a champion: the best") {
  Champion champion(Depth::time);
  for (int i = 0; i < 100; ++i) static_cast<void>(champion.offer(completed(timed(1000 + i)), i, 10 + i));
  Completed other = completed(timed(5000));
  other.request.candidate.name = "another";
  CHECK_FALSE(champion.offer(other, 100, 200));
  for (int i = 0; i < Champion::kKeptOfTemplate; ++i) {
    CHECK(champion.score_ns() == 1000 + i);
    champion.disqualify();
  }
  CHECK(champion.variant() == 200);
}

}  // namespace
}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
// Which variants no other beats.
#include "app/pareto/pareto_front.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "core/error.h"
#include "tests/db/store_fixture.h"

namespace ak::app {
namespace {

FrontPoint point(RowId variant, std::vector<double> values, const std::string& device = "GPU") {
  FrontPoint made;
  made.variant = variant;
  made.device = device;
  made.values = std::move(values);
  return made;
}

std::vector<RowId> front_of(std::vector<FrontPoint> points) {
  mark_front(points);
  std::vector<RowId> front;
  for (const FrontPoint& one : points)
    if (one.on_front) front.push_back(one.variant);
  return front;
}

TEST_CASE("a point that is as good everywhere and better somewhere beats, of equal ones the first stays") {
  CHECK(front_of({point(1, {1, 5}), point(2, {2, 5}), point(3, {2, 4}), point(4, {1, 5})}) ==
        std::vector<RowId>{1, 3});
  CHECK(front_of({point(1, {1, 5}), point(2, {2, 6}, "other")}) == std::vector<RowId>{1, 2});
}

TEST_CASE("the front of many points is that of comparing each with each") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<FrontPoint> points;
    for (RowId i = 0; i < 60; ++i) {
      std::vector<double> values;
      for (int objective = 0; objective < 3; ++objective) values.push_back(static_cast<double>(random() % 7));
      points.push_back(point(i, std::move(values), random() % 2 == 0 ? "GPU" : "other"));
    }
    std::vector<RowId> expected;
    for (const FrontPoint& one : points) {
      const bool beaten = std::ranges::any_of(points, [&](const FrontPoint& other) {
        bool as_good = other.device == one.device;
        for (std::size_t i = 0; i < 3; ++i) as_good = as_good && other.values[i] <= one.values[i];
        return as_good && (other.values != one.values || other.variant < one.variant);
      });
      if (!beaten) expected.push_back(one.variant);
    }
    CHECK(front_of(points) == expected);
  }
}

TEST_CASE("the database says which variants are on the front, and how many lack a value") {
  db::test::TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  db::test::Run run(*store);
  const auto commit = [&](int block, double ns, double error) {
    EvaluationResult result = db::test::Run::result(Status::ok, ns);
    for (CheckRecord& check : result.checks) check.max_error = error;
    run.commit(run.request(block), result);
  };
  commit(128, 3000, 1e-3);
  commit(256, 2000, 2e-3);
  commit(512, 4000, 2e-3);
  run.commit(1024, Status::incorrect);
  const ParetoFront front = pareto_front(folder.file(), "vector_add", {}, parse_objectives("time,error"));
  REQUIRE(front.points.size() == 3);
  std::vector<double> times;
  for (const FrontPoint& one : front.points)
    if (one.on_front) times.push_back(one.values[0]);
  CHECK(times == std::vector{2.0, 3.0});
  const Json json = to_json(front);
  CHECK(json["front"].size() == 2);
  CHECK(json["beaten"] == 1);
  CHECK(json["front"][0]["values"]["error"] == 2e-3);
  CHECK_THAT(front_text(front), Catch::Contains("2 of 3 variants"));
  CHECK_THAT(front_picture(front),
             Catch::StartsWith("<svg") && Catch::Contains("<circle") && Catch::EndsWith("</svg>\n"));
  CHECK(pareto_front(folder.file(), "vector_add", {{"dtype", "float16"}}, parse_objectives("time,error"))
            .points.empty());
  CHECK(pareto_front(folder.file(), "vector_add", {}, parse_objectives("time,energy")).points.empty());
  CHECK_THROWS_AS(parse_objectives("time"), Error);
  CHECK_THROWS_AS(parse_objectives("time,time"), Error);
  CHECK_THROWS_AS(parse_objectives("time,speed"), Error);
}

}  // namespace
}  // namespace ak::app

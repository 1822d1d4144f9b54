// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>
#include <utility>

#include "agent/search/points.h"
#include "agent/search/strategy.h"
#include "core/plan/candidate.h"
#include "core/tuning/plan_space.h"
#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

using Space = std::shared_ptr<const TunableSpace>;

Space grid_space(std::int64_t x, std::int64_t y, const std::vector<std::string>& constraints = {}) {
  Candidate candidate = test::grid_template("grid", x, y);
  for (const std::string& text : constraints)
    candidate.plan.constraints.push_back(Expression::parse(text).value());
  return std::make_shared<TunableSpace>(plan_space(candidate.plan, {}).value());
}

/// Asks until nothing comes; every answer is given at once.
std::vector<TunableValues> proposals(const Strategy& entry, std::uint64_t seed, bool always_fails = false) {
  const auto strategy = entry.make(grid_space(6, 7), seed, {});
  std::vector<TunableValues> order;
  while (auto point = strategy->ask()) {
    order.push_back(*point);
    strategy->tell(*point, always_fails ? std::nullopt : std::optional(test::surface_ns(*point)));
    REQUIRE(order.size() <= 42);
  }
  CHECK_FALSE(strategy->ask());
  return order;
}

TEST_CASE("every strategy proposes the same points for the same seed, none twice, and ends") {
  REQUIRE_FALSE(strategies().empty());
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    for (const bool always_fails : {false, true}) {
      const auto order = proposals(*entry, 5, always_fails);
      CHECK(order == proposals(*entry, 5, always_fails));
      CHECK(std::set(order.begin(), order.end()).size() == 42);
    }
  }
}

TEST_CASE("every strategy may be asked for the whole space before any answer, and copes with an empty one") {
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    const auto strategy = entry->make(grid_space(3, 3), 1, {});
    std::set<TunableValues> seen;
    while (auto point = strategy->ask()) CHECK(seen.insert(*point).second);
    for (const auto& point : seen) strategy->tell(point, std::nullopt);
    CHECK_FALSE(entry->make(grid_space(3, 3, {"X < 0"}), 1, {})->ask());
  }
}

TEST_CASE("every strategy takes answers late and in another order, and answers to what it did not ask") {
  for (const Strategy* entry : strategies()) {
    if (entry->name == "random" || entry->name == "exhaustive") continue;  // they do not listen
    CAPTURE(entry->name);
    const auto strategy = entry->make(grid_space(6, 7), 3, {});
    const TunableValues unasked{{"X", 2}, {"Y", 2}};
    strategy->tell(unasked, 5.0);
    std::set<TunableValues> seen{unasked};
    std::vector<TunableValues> in_flight;
    while (auto point = strategy->ask()) {
      REQUIRE(seen.insert(*point).second);
      in_flight.push_back(*point);
      if (in_flight.size() < 4) continue;
      const auto answered = in_flight.begin() + static_cast<std::ptrdiff_t>(seen.size() % 4);
      strategy->tell(*answered,
                     seen.size() % 5 == 0 ? std::nullopt : std::optional(test::surface_ns(*answered)));
      in_flight.erase(answered);
    }
    CHECK(seen.size() == 42);
  }
}

/// Lowest of `evaluations` times on a smooth valley in 30 x 30 points.
double lowest(const Strategy& entry, std::uint64_t seed, int evaluations) {
  const auto strategy = entry.make(grid_space(30, 30), seed, {});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < evaluations; ++i) {
    const auto point = strategy->ask();
    const double x = static_cast<double>(point->at("X")) - 21, y = static_cast<double>(point->at("Y")) - 8;
    const double time_ns = 100 + 10 * (x * x + y * y + x * y / 2);
    strategy->tell(*point, time_ns);
    best = std::min(best, time_ns);
  }
  return best;
}

TEST_CASE("every strategy that listens is better than random on a smooth surface") {
  constexpr int kSeeds = 20, kEvaluations = 90;
  for (const Strategy* entry : strategies()) {
    if (entry->name == "random" || entry->name == "exhaustive") continue;
    CAPTURE(entry->name);
    int better = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const double random = lowest(*find_strategy("random"), seed + 1000, kEvaluations);
      better += lowest(*entry, seed, kEvaluations) <= random ? 1 : 0;
    }
    CHECK(better >= kSeeds * 9 / 10);
  }
}

TEST_CASE("the portfolio proposes what its leader would, until that is stuck") {
  const auto leader = find_strategy("bayesian")->make(grid_space(30, 12), 5, {});
  const auto portfolio = find_strategy("portfolio")->make(grid_space(30, 12), 5, {});
  bool same = true;
  for (int i = 0; i < 300; ++i) {
    const auto proposal = portfolio->ask();
    same = same && leader->ask() == proposal;
    if (i < 100) CHECK(same);
    portfolio->tell(*proposal, test::surface_ns(*proposal));
    if (same) leader->tell(*proposal, test::surface_ns(*proposal));
  }
  CHECK_FALSE(same);
}

TEST_CASE("points know their neighbours, and a move over a gap lands on the next valid value") {
  const Points points(grid_space(5, 4, {"X != 2 or Y != 1"}));
  const PointNumber index = points.find(TunableValues{{"X", 1}, {"Y", 1}}).value();
  const auto values = [&](const std::vector<PointNumber>& numbers) {
    std::set<std::pair<std::int64_t, std::int64_t>> result;
    for (const PointNumber i : numbers) {
      const TunableValues point = points.tunable_values(i);
      result.emplace(point.at("X"), point.at("Y"));
    }
    return result;
  };
  using Set = std::set<std::pair<std::int64_t, std::int64_t>>;
  CHECK(values(points.neighbours(index)) == Set{{0, 1}, {3, 1}, {4, 1}, {1, 0}, {1, 2}, {1, 3}});
  CHECK(values(points.adjacent(index)) == Set{{0, 1}, {3, 1}, {1, 0}, {1, 2}});
  CHECK_FALSE(points.find(TunableValues{{"X", 2}, {"Y", 1}}));
  CHECK_FALSE(points.find(TunableValues{{"X", 9}, {"Y", 1}}));
}

TEST_CASE("the closest unseen point is the closest of all, however few there are") {
  const Points points(grid_space(40, 50, {"(X + Y) % 7 != 3"}));
  Engine engine(3);
  RemainingNumbers unseen(points.size());
  const auto distance = [&](PointNumber number, const Ordinals& from) {
    const Ordinals to = points.ordinals(number);
    return std::abs(to[0] - from[0]) / 39.0 + std::abs(to[1] - from[1]) / 49.0;
  };
  for (; unseen.size() > 0; unseen.take(unseen.draw(engine))) {
    const Ordinals from{static_cast<char16_t>(engine() % 40), static_cast<char16_t>(engine() % 50)};
    const PointNumber closest = points.closest(engine, from, unseen);
    REQUIRE(unseen.contains(closest));
    double least = 2;
    for (const PointNumber number : unseen.sample(engine, unseen.size()))
      least = std::min(least, distance(number, from));
    REQUIRE(distance(closest, from) == Approx(least).margin(1e-6));
  }
}

TEST_CASE("a point is found where all of the neighbourhood was seen") {
  const Points points(grid_space(200, 200));
  Engine engine(3);
  RemainingNumbers unseen(points.size());
  const Ordinals from{0, 0};
  for (PointNumber number = 0; number < points.size(); ++number) {
    const Ordinals near = points.ordinals(number);
    if (near[0] + near[1] < 120) unseen.take(number);
  }
  const PointNumber closest = points.closest(engine, from, unseen);
  REQUIRE(unseen.contains(closest));
  const Ordinals found = points.ordinals(closest);
  CHECK(found[0] + found[1] < 150);  // 33,000 are unseen, up to 398 away
}

TEST_CASE("strategies are found by name, names are unique and have a summary") {
  std::set<std::string_view> names;
  for (const Strategy* entry : strategies()) {
    CHECK(names.insert(entry->name).second);
    CHECK_FALSE(entry->summary.empty());
    CHECK(find_strategy(entry->name) == entry);
  }
  CHECK(find_strategy("ranodm") == nullptr);
}

TEST_CASE("exhaustive search walks the space, the last tunable first") {
  const auto order = proposals(*find_strategy("exhaustive"), 1);
  CHECK(std::ranges::is_sorted(order));
  CHECK(order.size() == 42);
}

TEST_CASE("random search covers the space and another seed gives another order") {
  const auto order = proposals(*find_strategy("random"), 1);
  CHECK(order.size() == 42);
  CHECK(order != proposals(*find_strategy("random"), 2));
  CHECK_FALSE(std::ranges::is_sorted(order));
}

TEST_CASE("random search picks every point equally often") {
  std::map<TunableValues, int> firsts;
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++firsts[*find_strategy("random")->make(grid_space(2, 2), seed, {})->ask()];
  REQUIRE(firsts.size() == 4);
  // Binomial(4000, 1/4): mean 1000, standard deviation 27; seeds are fixed, so this is not a matter of luck.
  for (const auto& [point, count] : firsts) CHECK(std::abs(count - 1000) < 5 * 27);
}

TEST_CASE("the order of random search is the same on every machine") {
  const auto strategy = find_strategy("random")->make(grid_space(6, 7), 42, {});
  std::string order;
  for (int i = 0; i < 4; ++i) {
    const auto point = strategy->ask();
    order += std::to_string(point->at("X")) + "," + std::to_string(point->at("Y")) + " ";
  }
  // Recorded once. A change breaks the repetition of old runs from their seed.
  CHECK(order == "0,6 5,0 1,3 5,6 ");
}

}  // namespace
}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
// What a search begins with: answers of earlier ones, right, misleading or broken.
#include "agent/search/search_prior.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <limits>
#include <set>

#include "agent/search/draw.h"
#include "core/tuning/plan_space.h"
#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

std::shared_ptr<const TunableSpace> grid(std::int64_t x, std::int64_t y) {
  return std::make_shared<TunableSpace>(plan_space(test::grid_template("grid", x, y).plan, {}).value());
}

/// A device that is three times as slow, and not quite the same everywhere.
double elsewhere_ns(const TunableValues& point) {
  return 3 * test::surface_ns(point) * (1 + 0.1 * std::sin(static_cast<double>(point.at("X"))));
}

template <class TimeOf>
EarlierSearches answers(const TunableSpace& space, std::size_t count, TimeOf time_of) {
  Engine engine(7);
  EarlierSearch search{.device = "other", .shape = "", .answers = {}};
  for (std::size_t i = 0; i < count; ++i) {
    const TunableValues point = tunables_of(space, space.point(draw_below(engine, space.size())));
    search.answers.push_back({point, time_of(point)});
  }
  return {search};
}

/// The best time after each of so many evaluations.
std::vector<double> best_of(const std::shared_ptr<const TunableSpace>& space, const EarlierSearches& earlier,
                            std::uint64_t seed, std::size_t budget, const char* strategy = "portfolio") {
  const auto search = find_strategy(strategy)->make(space, seed, earlier);
  std::vector<double> best;
  double least = kInfinity;
  while (best.size() < budget) {
    const auto point = search->ask();
    if (!point) break;
    least = std::min(least, test::surface_ns(*point));
    search->tell(*point, test::surface_ns(*point));
    best.push_back(least);
  }
  return best;
}

std::vector<TunableValues> order_of(const Strategy& entry, const std::shared_ptr<const TunableSpace>& space,
                                    const EarlierSearches& earlier) {
  const auto search = entry.make(space, 3, earlier);
  std::vector<TunableValues> order;
  while (auto point = search->ask()) {
    order.push_back(*point);
    const bool fails = point->at("X") % 5 == 1;
    search->tell(*point, fails ? std::nullopt : std::optional(test::surface_ns(*point)));
  }
  return order;
}

double least_ns(const TunableSpace& space) {
  double least = kInfinity;
  for (std::uint64_t i = 0; i < space.size(); ++i)
    least = std::min(least, test::surface_ns(tunables_of(space, space.point(i))));
  return least;
}

TEST_CASE("a search that knows a similar device is within 5 % of the optimum after three evaluations") {
  const auto space = grid(30, 30);
  const EarlierSearches earlier = answers(*space, 200, elsewhere_ns);
  for (const char* strategy : {"portfolio", "bayesian", "local-search", "genetic"}) {
    CAPTURE(strategy);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const double least = least_ns(*space);
      CHECK(least / best_of(space, earlier, seed, 3, strategy).back() > 0.95);
    }
  }
}

/// Every third row of the grid fails.
std::optional<double> failing_ns(const TunableValues& point) {
  return point.at("Y") % 3 == 1 ? std::nullopt : std::optional(test::surface_ns(point));
}

/// Share of the optimum after each of so many answers, of which `in_flight` are always awaited.
std::vector<double> fractions(const std::shared_ptr<const TunableSpace>& space,
                              const EarlierSearches& earlier, std::uint64_t seed, std::size_t budget,
                              std::size_t in_flight) {
  const auto search = find_strategy("portfolio")->make(space, seed, earlier);
  std::deque<TunableValues> awaited;
  std::vector<double> result;
  const double optimum = least_ns(*space);
  double best = kInfinity;
  while (result.size() < budget) {
    while (awaited.size() < in_flight) awaited.push_back(search->ask().value());
    const TunableValues point = awaited.front();
    awaited.pop_front();
    const auto time_ns = failing_ns(point);
    search->tell(point, time_ns);
    best = std::min(best, time_ns.value_or(kInfinity));
    result.push_back(optimum / best);
  }
  return result;
}

TEST_CASE(
    "a prior that misleads costs at most 5 %, whatever the budget, with failures and proposals in flight") {
  const auto space = grid(30, 30);
  const EarlierSearches right = answers(*space, 200, elsewhere_ns);
  EarlierSearches shuffled = right, reversed = right;
  Engine engine(11);
  for (std::size_t i = shuffled[0].answers.size(); i > 1; --i)
    std::swap(shuffled[0].answers[i - 1].time_ns, shuffled[0].answers[draw_below(engine, i)].time_ns);
  for (auto& answer : reversed[0].answers) answer.time_ns = 1e9 / *answer.time_ns;
  constexpr std::size_t kBudget = 100;
  constexpr std::uint64_t kSeeds = 12;
  const auto mean_fractions = [&](const EarlierSearches& earlier, std::size_t in_flight) {
    std::vector<double> mean(kBudget);
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto run = fractions(space, earlier, seed, kBudget, in_flight);
      for (std::size_t i = 0; i < kBudget; ++i) mean[i] += run[i] / static_cast<double>(kSeeds);
    }
    return mean;
  };
  for (const std::size_t in_flight : {1, 9}) {
    const auto cold = mean_fractions({}, in_flight);
    for (const EarlierSearches* earlier : {&shuffled, &reversed}) {
      const auto misled = mean_fractions(*earlier, in_flight);
      for (const std::size_t at : {25, 50, 100}) {
        CAPTURE(in_flight, at, earlier == &reversed);
        CHECK(misled[at - 1] > 0.95 * cold[at - 1]);
      }
    }
  }
}

TEST_CASE("until something works, few proposals are the prior's") {
  const auto space = grid(30, 30);
  const EarlierSearches earlier = answers(*space, 200, elsewhere_ns);
  const Points points(space);
  const auto prior = SearchPrior::make(points, earlier);
  REQUIRE(prior);
  const std::set<PointNumber> fastest(prior->fastest().begin(), prior->fastest().end());
  for (const bool answered : {false, true}) {
    CAPTURE(answered);
    const auto search = find_strategy("bayesian")->make(space, 3, earlier);
    std::size_t of_prior = 0;
    for (int i = 0; i < 64; ++i) {
      const TunableValues point = search->ask().value();
      of_prior += fastest.count(points.find(point).value());
      if (answered) search->tell(point, std::nullopt);
    }
    CHECK(of_prior >= 5);
    CHECK(of_prior <= 20);  // five, and what of the 64 a spread over 900 points meets
  }
}

TEST_CASE("with any prior every strategy proposes every point once, and the same for the same seed") {
  const auto space = grid(6, 7);
  EarlierSearches earlier = answers(*space, 30, elsewhere_ns);
  earlier.push_back(answers(*space, 12, [](const TunableValues&) { return std::nullopt; }).front());
  earlier.push_back(answers(*space, 20, [](const TunableValues& point) {
                      return point.at("Y") % 3 == 0 ? std::nullopt : std::optional(1e300);
                    }).front());
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    const auto order = order_of(*entry, space, earlier);
    CHECK(std::set(order.begin(), order.end()).size() == 42);
    CHECK(order == order_of(*entry, space, earlier));
  }
}

TEST_CASE("answers that cannot be placed or are no times change nothing") {
  const auto space = grid(6, 7);
  EarlierSearch useless{.device = "other", .shape = "", .answers = {}};
  for (std::int64_t i = 0; i < 20; ++i) {
    useless.answers.push_back(
        {{{"BLOCK", i}, {"TILE", 2}}, 1000.0 + static_cast<double>(i)});  // other tunables
    useless.answers.push_back({{{"X", i % 6}}, 1000.0});                  // one is missing
    useless.answers.push_back({{{"X", 1000 + i}, {"Y", 1}}, 1000.0});     // another value
    for (const double none : {kNan, kInfinity, -kInfinity, 0.0, -5.0})
      useless.answers.push_back({{{"X", 1}, {"Y", 1}}, none});
  }
  for (const char* strategy : {"portfolio", "bayesian", "tabu"}) {
    const Strategy& entry = *find_strategy(strategy);
    CHECK(order_of(entry, space, {useless}) == order_of(entry, space, {}));
  }
}

TEST_CASE("of thousands of answers in many groups the fastest decide what comes first") {
  const auto space = grid(30, 30);
  EarlierSearches earlier;
  for (int group = 0; group < 12; ++group) earlier.push_back(answers(*space, 1500, elsewhere_ns).front());
  CHECK(least_ns(*space) / best_of(space, earlier, 1, 2).back() > 0.95);
  const Points points(space);
  const auto prior = SearchPrior::make(points, earlier);
  REQUIRE(prior);
  CHECK(prior->groups() == TimePrior::kMaxGroups);
  const auto& fastest = prior->fastest();
  CHECK(std::is_sorted(fastest.begin(), fastest.end(), [&](PointNumber a, PointNumber b) {
    return prior->at(a).log_time < prior->at(b).log_time;
  }));
}

/// X alone counts, and its good values change with the phase.
double rugged_ns(const TunableValues& point, double phase) {
  return 1000 * (2 + std::sin(1.7 * static_cast<double>(point.at("X")) + phase));
}

TEST_CASE("a prior says how much each tunable counts, whatever its best values") {
  const auto space = grid(30, 30);
  const auto elsewhere = [](const TunableValues& point) { return rugged_ns(point, 2.5); };
  const Points points(space);
  const auto prior = SearchPrior::make(points, answers(*space, 100, elsewhere));
  REQUIRE(prior);
  const auto parameters = prior->kernel_parameters();  // of ranks and of being equal, X before Y
  REQUIRE(parameters.size() == 4);
  CHECK(parameters[0] > parameters[2] + 1);

  Engine engine(5);
  const auto anything = [&](const TunableValues&) { return 1000 + 1000 * draw_unit(engine); };
  CHECK(SearchPrior::make(points, answers(*space, 100, anything))->kernel_parameters().empty());
}

TEST_CASE("where earlier answers failed, a search expects failures") {
  const auto space = grid(6, 7);
  const auto fails = [](const TunableValues& point) {
    return point.at("X") < 2 ? std::nullopt : std::optional(elsewhere_ns(point));
  };
  const Points points(space);
  const auto prior = SearchPrior::make(points, answers(*space, 100, fails));
  REQUIRE(prior);
  const auto failing = prior->at(*points.find({{"X", points.values(0).front()}, {"Y", 3}})).outcomes;
  const auto working = prior->at(*points.find({{"X", points.values(0).back()}, {"Y", 3}})).outcomes;
  CHECK(failing.failed > failing.worked);
  CHECK(working.worked > working.failed);
}

}  // namespace
}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/plan_space.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "core/plan/candidate.h"
#include "core/tuning/cheapest_points.h"
#include "tests/support/listed_points.h"
#include "tests/support/refused_space.h"

namespace ak {
namespace {

using Lets = std::vector<std::pair<std::string, std::string>>;

LaunchPlan tuned_plan(const std::vector<std::pair<std::string, std::string>>& tunables,
                      const std::vector<std::string>& constraints, const Lets& let = {}) {
  LaunchPlan plan;
  for (const auto& [name, values] : tunables) {
    Tunable& tunable = plan.tunables.emplace_back(Tunable{.name = name, .values = {}});
    const auto list = parse_value_list(values);
    for (const TuningValue& value : list.value()) tunable.values.push_back(std::get<std::int64_t>(value));
    tunable.default_value = tunable.values.front();
  }
  for (const auto& [name, text] : let) plan.let.emplace_back(name, Expression::parse(text).value());
  for (const std::string& text : constraints) plan.constraints.push_back(Expression::parse(text).value());
  return plan;
}

/// `count` tunables T0, T1, ... with ten values each.
std::vector<std::pair<std::string, std::string>> digits(int count) {
  std::vector<std::pair<std::string, std::string>> tunables;
  for (int i = 0; i < count; ++i) tunables.emplace_back(fmt::format("T{}", i), "range(1, 11)");
  return tunables;
}

/// "T0 * T1 * ...".
std::string chain(int count, std::string_view by) {
  std::string text = "T0";
  for (int i = 1; i < count; ++i) text += fmt::format(" {} T{}", by, i);
  return text;
}

bool let_has_values(const LaunchPlan& plan, Environment environment, const TunableValues& point) {
  for (const auto& [name, value] : point) environment[name] = value;
  return std::ranges::all_of(plan.let, [&](const auto& let) {
    const auto value = let.second.evaluate(environment);
    if (value) environment[let.first] = *value;
    return value.ok();
  });
}

/// Every point of the product that the evaluator of launch plans accepts.
std::set<TunableValues> accepted_points(const LaunchPlan& plan, const Environment& environment) {
  std::set<TunableValues> points{TunableValues{}};
  for (const Tunable& tunable : plan.tunables) {
    std::set<TunableValues> longer;
    for (const TunableValues& point : points)
      for (const std::int64_t value : tunable.values) {
        TunableValues next = point;
        next[tunable.name] = value;
        longer.insert(std::move(next));
      }
    points = std::move(longer);
  }
  std::erase_if(points, [&](const TunableValues& point) {
    return !broken_constraints(plan, environment, point).empty() || !let_has_values(plan, environment, point);
  });
  return points;
}

/// A random integer expression over the names, with every operator of launch plans.
std::string random_term(std::mt19937_64& engine, const std::vector<std::string>& names, int level = 0) {
  static const std::vector<std::string> kOperators{" + ", " - ", " * ", " // ", " % ", " / "};
  if (level == 3 || engine() % 3 == 0)
    return engine() % 4 == 0 ? std::to_string(engine() % 20) : names[engine() % names.size()];
  const std::string left = random_term(engine, names, level + 1);
  const std::string right = random_term(engine, names, level + 1);
  switch (engine() % 8) {
    case 0:
      return fmt::format("max({}, {})", left, right);
    case 1:
      return fmt::format("({} if {} > 4 else {})", left, right, random_term(engine, names, level + 1));
    default:
      return fmt::format("({}{}{})", left, kOperators[engine() % kOperators.size()], right);
  }
}

TEST_CASE("the space of a plan holds exactly the points that the evaluator of plans accepts") {
  std::mt19937_64 engine(5);
  const Environment known{{"N", std::int64_t{48}}, {"BIG", std::int64_t{1} << 61}, {"dtype", "float32"}};
  std::size_t in_between = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> names{"A", "B", "C", "D", "N"};
    if (round % 5 == 0) names.emplace_back("BIG");  // beyond what doubles hold; products overflow
    Lets let;
    for (const char* name : {"L", "M"}) {
      let.emplace_back(name, random_term(engine, names, 1));
      names.emplace_back(name);
    }
    std::vector<std::string> constraints;
    for (std::size_t i = 0; i < 1 + engine() % 3; ++i)
      constraints.push_back(random_term(engine, names) + (engine() % 2 == 0 ? " <= " : " != ") +
                            random_term(engine, names));
    if (round % 3 == 0) constraints.push_back("dtype == 'float32' and (A > 1 or B < 5)");
    const LaunchPlan plan =
        tuned_plan({{"A", "[1, 2, 4, 8]"}, {"B", "[0, 3, 5]"}, {"C", "[1, 2, 3, 4]"}, {"D", "[0, 1]"}},
                   constraints, let);
    CAPTURE(let, constraints);
    const auto points = test::listed_points(plan, known);
    const auto wanted = accepted_points(plan, known);
    REQUIRE(std::set(points.begin(), points.end()) == wanted);
    REQUIRE(points.size() == wanted.size());
    in_between += !wanted.empty() && wanted.size() < 96 ? 1 : 0;
  }
  CHECK(in_between > 80);  // the constraints decide something
}

/// A random condition: chains of comparisons, lists with members that may have no value, and texts, which cannot be
/// ordered.
std::string random_statement(std::mt19937_64& engine, const std::vector<std::string>& names, int level = 0) {
  const auto pick = [&](std::vector<std::string> from) { return from[engine() % from.size()]; };
  const auto term = [&] {
    return engine() % 8 == 0 ? pick({"dtype", "'float32'"}) : random_term(engine, names, 2);
  };
  const std::string first = term(), second = term(), third = term();
  const std::string link = pick({"<", "==", "!="}), last_link = pick({"<=", ">", "=="});
  switch (engine() % (level == 2 ? 3 : 6)) {
    case 0:
      return fmt::format("{} {} [{}, {}]", first, pick({"in", "not in"}), second, third);
    case 1:
      return fmt::format("{} {} {} {} {}", first, link, second, last_link, third);
    case 2:
      return fmt::format("{} {} {}", first, pick({">=", "!=", "=="}), second);
    case 3:
      return fmt::format("not ({})", random_statement(engine, names, level + 1));
    default:
      const std::string left = random_statement(engine, names, level + 1), word = pick({"and", "or"});
      return fmt::format("({}) {} ({})", left, word, random_statement(engine, names, level + 1));
  }
}

TEST_CASE(
    "conditions on lists, chains, texts and numbers around 2^53 mean in spaces what they mean in plans") {
  std::mt19937_64 engine(11);
  const std::int64_t large = std::int64_t{1} << 53;
  const Environment known{{"BIG", large}, {"dtype", "float32"}};
  std::size_t in_between = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> constraints{random_statement(engine, {"A", "B", "C"})};
    if (round % 4 == 0) constraints.push_back(random_statement(engine, {"A", "C", "E", "BIG"}));
    LaunchPlan plan =
        tuned_plan({{"A", "[0, 1, 2, 4]"}, {"B", "[0, 3, 5]"}, {"C", "[2, 1]"}, {"E", "[0]"}}, constraints);
    if (round % 4 == 0) plan.tunables[3].values = {large - 1, large, large + 1, -large - 1};
    CAPTURE(constraints);
    const auto points = test::listed_points(plan, known);
    const auto wanted = accepted_points(plan, known);
    REQUIRE(std::set(points.begin(), points.end()) == wanted);
    const std::size_t all = round % 4 == 0 ? 96 : 24;
    in_between += !wanted.empty() && wanted.size() < all ? 1 : 0;
  }
  CHECK(in_between > 300);  // the constraints decide something
}

TEST_CASE("a list is evaluated to its end, as Python does, and so needs a value of every member") {
  const LaunchPlan plan = tuned_plan({{"A", "[0, 1, 2, 4]"}}, {"A in [0, 4 // A]"});
  CHECK(test::listed_points(plan, {}) == std::vector<TunableValues>{{{"A", 2}}});
}

TEST_CASE("a comparison that is not reached needs no value") {
  const LaunchPlan plan = tuned_plan({{"A", "[1, 2]"}, {"B", "[1, 2]"}}, {"not (A < B < dtype)"});
  CHECK(test::listed_points(plan, {{"dtype", "float32"}}).size() == 3);  // without A = 1, B = 2
}

TEST_CASE("of numbers from 2^53 on nothing is taken from doubles, which do not tell it from the next") {
  const std::int64_t large = std::int64_t{1} << 53;
  LaunchPlan plan = tuned_plan({{"A", "[0]"}}, {"A == 9007199254740992"});
  plan.tunables[0].values = {large, large + 1};
  CHECK(test::listed_points(plan, {}) == std::vector<TunableValues>{{{"A", large}}});
}

TEST_CASE("beginnings are told apart by the branch that they chose and by numbers that doubles do not hold") {
  const LaunchPlan branches =
      tuned_plan({{"A", "[1, 2]"}, {"C", "[1, 2, 3, 4]"}}, {"(C + 1 if A == 1 else C - 1) == 3"});
  CHECK(test::listed_points(branches, {}) ==
        std::vector<TunableValues>{{{"A", 1}, {"C", 2}}, {{"A", 2}, {"C", 4}}});
  const std::int64_t large = std::int64_t{1} << 60;
  LaunchPlan parity = tuned_plan({{"A", "[1]"}, {"C", "[1, 2, 3]"}}, {"A % 2 == C - 1"});
  parity.tunables[0].values = {large, large + 1};
  CHECK(test::listed_points(parity, {}) ==
        std::vector<TunableValues>{{{"A", large}, {"C", 1}}, {{"A", large + 1}, {"C", 2}}});
}

TEST_CASE("constraints count through names that follow from tunables, and wait for sizes") {
  const LaunchPlan plan = tuned_plan(
      {{"BLOCK", "[128, 256]"}, {"VEC", "[1, 2, 4]"}}, {"WARPS >= 4", "LOOPS >= 2", "BLOCK * VEC <= 512"},
      {{"THREADS", "BLOCK // VEC"}, {"WARPS", "THREADS // 32"}, {"LOOPS", "N // BLOCK"}});
  const std::vector<TunableValues> few_warps{
      {{"BLOCK", 128}, {"VEC", 1}}, {{"BLOCK", 256}, {"VEC", 1}}, {{"BLOCK", 256}, {"VEC", 2}}};
  CHECK(test::listed_points(plan, {}) == few_warps);
  CHECK(test::listed_points(plan, {{"N", std::int64_t{256}}}) ==
        std::vector<TunableValues>{{{"BLOCK", 128}, {"VEC", 1}}});
}

TEST_CASE("a name of let stands for a known one from there on, as when a plan is resolved") {
  const LaunchPlan plan =
      tuned_plan({{"A", "[1, 2, 3, 4]"}}, {"N == 6", "HALF == 4"}, {{"HALF", "N // 2"}, {"N", "N - A"}});
  CHECK(test::listed_points(plan, {{"N", std::int64_t{8}}}) == std::vector<TunableValues>{{{"A", 2}}});
}

TEST_CASE("a plan without tunables has one point, or none") {
  CHECK(test::listed_points(tuned_plan({}, {}), {}) == std::vector<TunableValues>{TunableValues{}});
  CHECK(test::listed_points(tuned_plan({}, {"ARCH >= 80"}), {}).size() == 1);  // ARCH is not known
  CHECK(test::listed_points(tuned_plan({}, {"ARCH >= 80"}), {{"ARCH", std::int64_t{75}}}).empty());
}

TEST_CASE("a space of 10^12 products is counted in full, and every point of it can be reached") {
  // Points whose product is at most 10^6: what is open is the product so far, not the values.
  const TunableSpace space = plan_space(tuned_plan(digits(12), {chain(12, "*") + " <= 1000000"}), {}).value();
  CHECK(space.edges() < 200'000);
  CHECK(space.raw_size() == 1e12);
  TunableValues largest;
  for (int i = 0; i < 12; ++i) largest[fmt::format("T{}", i)] = i < 6 ? 10 : 1;
  CHECK(point_of(space, largest));
  largest["T6"] = 2;
  CHECK_FALSE(point_of(space, largest));
  // Sums, and what is left over, of twelve tunables: a seventh of all, within one in a million.
  const TunableSpace seventh =
      plan_space(tuned_plan(digits(12), {"(" + chain(12, "+") + ") % 7 == 0"}), {}).value();
  CHECK(static_cast<double>(seventh.size()) == Approx(1e12 / 7).epsilon(1e-6));
}

TEST_CASE("a space is impossible only where it is, and then the fewest constraints are named") {
  // Every beginning but the last is impossible, and a walk in the order of the values finds that out late.
  const LaunchPlan late = tuned_plan(digits(12), {chain(12, "*") + " >= 10 ** 12"});
  CHECK(plan_space(late, {})->size() == 1);
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 30; ++i) many.emplace_back(fmt::format("T{}", i), "[0, 1, 2, 3]");
  const TunableSpace none = plan_space(tuned_plan(many, {"T3 >= 0", "T0 + T29 < 0", "T1 != T2"}), {}).value();
  CHECK(none.size() == 0);
  CHECK(contradiction(none) == std::vector<std::string>{"T0 + T29 < 0"});
  const LaunchPlan both = tuned_plan({{"A", "[1, 2, 3]"}, {"B", "[1, 2]"}},
                                     {"B > 0", "A < 3", "L > 4", "A != 1"}, {{"L", "A * 2"}});
  CHECK(contradiction(plan_space(both, {}).value()) == std::vector<std::string>{"A < 3", "L > 4"});
  const LaunchPlan faulty = tuned_plan({{"A", "[0, 1]"}}, {"A < 1"}, {{"L", "4 // A"}});
  CHECK(contradiction(plan_space(faulty, {}).value()) ==
        std::vector<std::string>{"A < 1", "a value of L = 4 // A"});
}

TEST_CASE("what contradicts each other is found within the memory that the space was given") {
  // Nine that all differ of eight values contradict each other, too, which takes some 4 MB to see.
  SpaceRules rules{.parameters = {}, .constraints = {"T0 + T1 < 0"}, .arithmetic = Arithmetic::integer};
  for (int i = 0; i < 9; ++i) {
    rules.parameters.push_back({fmt::format("T{}", i), parse_value_list("range(8)").value()});
    for (int j = 0; j < i; ++j) rules.constraints.push_back(fmt::format("T{} != T{}", i, j));
  }
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  CHECK(contradiction(TunableSpace::build(rules, kMegabyte).value()) ==
        std::vector<std::string>{"T0 + T1 < 0"});
}

TEST_CASE("a plan has a point of its values that breaks none of its constraints") {
  const LaunchPlan plan = tuned_plan({{"A", "[1, 2]"}, {"B", "[1, 2]"}}, {"A != B", "A < N"});
  CHECK(has_point(plan, {}, {{"A", 1}, {"B", 2}}));
  CHECK(has_point(plan, {{"N", std::int64_t{2}}}, {{"A", 1}, {"B", 2}}));
  CHECK_FALSE(has_point(plan, {{"N", std::int64_t{2}}}, {{"A", 2}, {"B", 1}}));
  CHECK_FALSE(has_point(plan, {}, {{"A", 1}, {"B", 1}}));
  CHECK_FALSE(has_point(plan, {}, {{"A", 3}, {"B", 1}}));
  CHECK_FALSE(has_point(plan, {}, {{"A", 1}}));
  CHECK_FALSE(has_point(plan, {}, {{"A", 1}, {"B", 2}, {"C", 1}}));
}

TEST_CASE("the nearest points come first: few tunables changed, then few doublings") {
  const TunableSpace space =
      plan_space(tuned_plan({{"A", "[16, 32, 64, 128]"}, {"B", "[1, 2, 4]"}}, {"A != 32 or B != 2"}), {})
          .value();
  const auto nearest = nearest_points(space, {{"A", 32}, {"B", 2}}, 100);
  REQUIRE(nearest.size() == 11);
  CHECK(nearest[0] == TunableValues{{"A", 32}, {"B", 1}});
  CHECK(nearest[1] == TunableValues{{"A", 32}, {"B", 4}});
  CHECK(nearest[2] == TunableValues{{"A", 16}, {"B", 2}});
  CHECK(nearest[4] == TunableValues{{"A", 128}, {"B", 2}});
  CHECK(nearest_points(space, {{"A", 64}, {"B", 1}}, 1) == std::vector<TunableValues>{{{"A", 64}, {"B", 1}}});
}

TEST_CASE("a space of listed points has these, numbered in their order, and costs ascend") {
  const std::vector<TuningParameter> parameters{{"a", parse_value_list("range(5)").value()},
                                                {"b", parse_value_list("range(5)").value()},
                                                {"c", parse_value_list("range(4)").value()}};
  std::vector<TuningPoint> points;
  for (std::uint16_t a = 0; a < 5; ++a)
    for (std::uint16_t b = 0; b < 5; ++b)
      for (std::uint16_t c = 0; c < 4; ++c)
        if ((a * 7 + b * 3 + c) % 4 != 0 || a == 2) points.push_back({a, b, c});
  const TunableSpace space = TunableSpace::of_points(parameters, points);
  REQUIRE(space.size() == points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    REQUIRE(space.point(i) == points[i]);
    REQUIRE(space.index_of(points[i]) == i);
  }
  CHECK_FALSE(space.index_of(TuningPoint{0, 0, 0}));
  const std::vector<std::vector<double>> costs{{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}, {0, 8, 2, 7}};
  CheapestPoints cheapest(space, costs);
  std::set<std::uint64_t> seen;
  double last = 0;
  while (const auto number = cheapest.next()) {
    const TuningPoint point = space.point(*number);
    const double cost = costs[0][point[0]] + costs[1][point[1]] + costs[2][point[2]];
    REQUIRE(cost >= last);
    last = cost;
    REQUIRE(seen.insert(*number).second);
  }
  CHECK(seen.size() == points.size());
  CHECK(TunableSpace::of_points(parameters, {}).size() == 0);
}

TEST_CASE("points that cost the same come beginning by beginning, so that few are begun and not finished") {
  const TunableSpace space = plan_space(tuned_plan(digits(6), {}), {}).value();
  CheapestPoints cheapest(space, std::vector(6, std::vector<double>(10, 1)));
  const std::uint64_t first = cheapest.next().value();
  for (int i = 1; i < 10; ++i) CHECK(cheapest.next().value() / 10 == first / 10);
}

TEST_CASE("a space whose constraints distinguish too many beginnings is refused by name") {
  Candidate candidate;
  test::add_refused_tunables(candidate);
  const auto space = plan_space(candidate.plan, {});
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().message.find("the constraints distinguish too many beginnings") == 0);
}

}  // namespace
}  // namespace ak

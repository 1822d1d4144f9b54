// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/plan/expression.h"
#include "core/tuning/condition.h"
#include "core/tuning/tunable_space.h"

namespace ak {
namespace {

using Constraints = std::vector<std::string>;

std::vector<TuningParameter> parameters(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<TuningParameter> result;
  for (const auto& [name, values] : texts) result.push_back({name, parse_value_list(values).value()});
  return result;
}

TunableSpace built(const std::vector<std::pair<std::string, std::string>>& texts, Constraints constraints) {
  auto space = TunableSpace::build(parameters(texts), std::move(constraints));
  INFO((space.ok() ? "" : space.error().message));
  REQUIRE(space.ok());
  return std::move(space).value();
}

std::string input_error(const std::vector<std::pair<std::string, std::string>>& texts,
                        Constraints constraints) {
  const auto space = TunableSpace::build(parameters(texts), std::move(constraints));
  REQUIRE_FALSE(space.ok());
  return space.error().message;
}

/// Every point of the product at which every constraint holds, by the evaluator of launch plans.
std::set<TuningPoint> filtered(const std::vector<TuningParameter>& all, const Constraints& constraints) {
  std::vector<Expression> expressions;
  for (const std::string& text : constraints) expressions.push_back(Expression::parse(text).value());
  std::set<TuningPoint> points;
  TuningPoint point(all.size(), 0);
  for (;;) {
    Environment environment;
    for (std::size_t i = 0; i < all.size(); ++i)
      environment[all[i].name] = std::get<std::int64_t>(all[i].values[point[i]]);
    const bool holds = std::ranges::all_of(expressions, [&](const Expression& expression) {
      const auto truth = expression.evaluate_bool(environment);
      return truth.ok() && *truth;
    });
    if (holds) points.insert(point);
    std::size_t i = 0;
    while (i < all.size() && ++point[i] == all[i].values.size()) point[i++] = 0;
    if (i == all.size()) return points;
  }
}

std::set<TuningPoint> listed(const TunableSpace& space) {
  std::set<TuningPoint> points;
  for (std::uint64_t i = 0; i < space.size(); ++i) points.insert(space.point(i));
  CHECK(points.size() == space.size());
  return points;
}

const std::vector<std::pair<std::string, std::string>> kTiles{
    {"bx", "[2**i for i in range(8)]"}, {"by", "[1, 2, 3, 5, 8]"}, {"t", "range(1, 7)"}, {"pad", "[0, 1]"}};

/// A random condition over kTiles from a small grammar.
std::string random_condition(std::mt19937_64& engine, int depth = 0) {
  static const std::vector<std::string> kNames{"bx", "by", "t", "pad"};
  const auto pick = [&](const std::vector<std::string>& from) { return from[engine() % from.size()]; };
  const auto term = [&](auto&& self, int level) -> std::string {
    if (level == 2 || engine() % 3 == 0)
      return engine() % 3 == 0 ? std::to_string(engine() % 40) : pick(kNames);
    const std::string left = self(self, level + 1), right = self(self, level + 1);
    if (engine() % 5 == 0)
      return pick({"min", "max", "ceil_div", "round_up"}) + "(" + left + ", " + right + ")";
    return "(" + left + pick({" + ", " - ", " * ", " // ", " % "}) + right + ")";
  };
  const auto comparison = [&] {
    return term(term, 0) + pick({" < ", " <= ", " == ", " != ", " >= "}) + term(term, 0);
  };
  if (depth == 2 || engine() % 2 == 0) return pick(kNames) + " * 0 == 0 and " + comparison();
  if (engine() % 4 == 0) return "not (" + random_condition(engine, depth + 1) + ")";
  if (engine() % 4 == 0) return pick(kNames) + " in [1, 2, 8] or " + comparison();
  return "(" + random_condition(engine, depth + 1) + ")" + pick({" and ", " or "}) + "(" + comparison() + ")";
}

TEST_CASE("a space holds exactly the points that a filter over the product leaves") {
  std::mt19937_64 engine(7);
  const auto all = parameters(kTiles);
  std::size_t in_between = 0;
  for (int round = 0; round < 400; ++round) {
    Constraints constraints;
    for (std::size_t i = 0; i <= engine() % 4; ++i) constraints.push_back(random_condition(engine));
    CAPTURE(constraints);
    const TunableSpace space = built(kTiles, constraints);
    const auto wanted = filtered(all, constraints);
    REQUIRE(listed(space) == wanted);
    in_between += !wanted.empty() && wanted.size() < 480 ? 1 : 0;
  }
  CHECK(in_between > 100);  // the conditions decide something
}

TEST_CASE("a real number is not the whole number of its value where that matters") {
  // is_pow2 is for integers, so that A = 2.0 has no value there whatever B is.
  const TunableSpace space = built({{"A", "[2, 2.0]"}, {"B", "[1, 2, 3]"}}, {"is_pow2(A * B)"});
  CHECK(listed(space) == std::set<TuningPoint>{{0, 0}, {0, 1}});
}

/// Every point of the product at which every constraint holds when all parameters are bound, whose values are numbers.
std::set<TuningPoint> bound_one_by_one(const std::vector<TuningParameter>& all,
                                       const Constraints& constraints) {
  std::map<std::string, std::size_t> slots;
  for (std::size_t i = 0; i < all.size(); ++i) slots[all[i].name] = i;
  std::vector<Condition> conditions;
  for (const std::string& text : constraints)
    conditions.push_back(Condition::compile(text, slots, [](const std::string&) { return 0.0; }).value());
  const TunableSpace product = TunableSpace::build(all, {}).value();
  std::set<TuningPoint> points;
  for (std::uint64_t i = 0; i < product.size(); ++i) {
    std::vector<ValueRange> bound;
    for (const TuningValue& value : product.values(product.point(i))) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      const double number = integer ? static_cast<double>(*integer) : std::get<double>(value);
      bound.push_back({number, number, ValueRange::Kind::number, integer != nullptr});
    }
    const auto holds = [&](const Condition& condition) { return condition.evaluate(bound) == Truth::yes; };
    if (std::ranges::all_of(conditions, holds)) points.insert(product.point(i));
  }
  return points;
}

TEST_CASE("beginnings with real and whole numbers are told apart where any condition does") {
  const auto all = parameters({{"bx", "[1, 1.0, 2, 2.0]"},
                               {"by", "[1, 2.0, 3, 4]"},
                               {"t", "[1, 2, 3, 4, 6, 0.5]"},
                               {"pad", "[0, 0.0, 1]"}});
  std::mt19937_64 engine(13);
  std::size_t in_between = 0;
  for (int round = 0; round < 400; ++round) {
    const Constraints constraints{random_condition(engine), random_condition(engine)};
    CAPTURE(constraints);
    const TunableSpace space = TunableSpace::build(all, constraints).value();
    const auto wanted = bound_one_by_one(all, constraints);
    REQUIRE(listed(space) == wanted);
    in_between += !wanted.empty() && wanted.size() < 288 ? 1 : 0;
  }
  CHECK(in_between > 100);  // the conditions decide something
}

TEST_CASE("the number of a point and the point of a number are inverse, and no other point has a number") {
  const TunableSpace space = built(kTiles, {"32 <= bx * by <= 256", "t % 2 == 0 or pad == 0"});
  for (std::uint64_t i = 0; i < space.size(); ++i) REQUIRE(space.index_of(space.point(i)) == i);
  CHECK_FALSE(space.index_of(TuningPoint{0, 0, 0, 0}));
  CHECK_FALSE(space.index_of(TuningPoint{9, 0, 0, 0}));
  CHECK_FALSE(space.index_of(TuningPoint{0, 0}));
  CHECK(space.find(
      std::vector<TuningValue>{std::int64_t{64}, std::int64_t{2}, std::int64_t{3}, std::int64_t{0}}));
  CHECK_FALSE(space.find(
      std::vector<TuningValue>{std::int64_t{1}, std::int64_t{1}, std::int64_t{3}, std::int64_t{0}}));
}

TEST_CASE("samples are uniform and follow from the seed") {
  const TunableSpace space = built({{"a", "range(4)"}, {"b", "range(4)"}}, {"a * b >= 3"});
  REQUIRE(space.size() == 6);
  std::map<TuningPoint, int> counts;
  std::mt19937_64 engine(3), same(3);
  for (int i = 0; i < 6000; ++i) {
    const TuningPoint point = space.sample(engine);
    ++counts[point];
    REQUIRE(space.sample(same) == point);
  }
  REQUIRE(counts.size() == 6);
  // Binomial(6000, 1/6): mean 1000, standard deviation 29.
  for (const auto& [point, count] : counts) CHECK(std::abs(count - 1000) < 5 * 29);
}

TEST_CASE("neighbours differ in one parameter; adjacent ones are the nearest that exist") {
  using Neighbourhood = TunableSpace::Neighbourhood;
  const TunableSpace space = built({{"a", "range(6)"}, {"b", "range(3)"}}, {"a != 2 or b != 1"});
  const TuningPoint here{1, 1};
  const auto points = [&](Neighbourhood neighbourhood) {
    std::set<TuningPoint> found;
    for (const std::uint64_t index : space.neighbours(here, neighbourhood)) found.insert(space.point(index));
    return found;
  };
  CHECK(points(Neighbourhood::one_changed) ==
        std::set<TuningPoint>{{0, 1}, {3, 1}, {4, 1}, {5, 1}, {1, 0}, {1, 2}});
  CHECK(points(Neighbourhood::adjacent) == std::set<TuningPoint>{{0, 1}, {3, 1}, {1, 0}, {1, 2}});
  CHECK(space.encode(TuningPoint{5, 1}) == std::vector<double>{1.0, 0.5});
}

TEST_CASE("texts and real numbers are values, with Python's division") {
  const TunableSpace space =
      built({{"type", "['float', 'double', '']"}, {"f", "[0.5, 1.5, 2]"}, {"n", "[1, 2, 3]"}},
            {"type == 'float' or n / 2 < f", "type", "f in (0.5, 2) or type != 'double'"});
  std::set<std::string> points;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const auto values = space.values(space.point(i));
    points.insert(to_string(values[0]) + " " + to_string(values[1]) + " " + to_string(values[2]));
  }
  CHECK(points.size() == 12);
  CHECK(points.contains("float 0.5 3"));
  CHECK(points.contains("double 2 3"));
  CHECK_FALSE(points.contains("double 1.5 1"));
}

TEST_CASE("a point at which a constraint has no value is not a point") {
  CHECK(built({{"a", "[0, 1, 2]"}}, {"6 % a == 0"}).size() == 2);
  CHECK(built({{"a", "[0, 1, 2]"}}, {"not 6 // a < 1"}).size() == 2);
  CHECK(built({{"a", "['x', 3]"}}, {"a < 5"}).size() == 1);
  CHECK(built({{"a", "[0, 1, 2]"}}, {"a == 0 or 6 % a == 0"}).size() == 3);
}

TEST_CASE("a huge space is counted and drawn from without being listed") {
  std::vector<std::pair<std::string, std::string>> texts;
  Constraints constraints;
  for (int i = 0; i < 14; ++i) {
    texts.emplace_back("p" + std::to_string(i), "range(10)");
    if (i > 0) constraints.push_back("p" + std::to_string(i - 1) + " <= p" + std::to_string(i));
  }
  const TunableSpace space = built(texts, constraints);
  CHECK(space.size() == 817'190);  // of 10^14: multisets of 14 from 10 kinds, 23! / (14! 9!)
  CHECK(space.edges() < 1000);
  texts.clear();
  for (int i = 0; i < 12; ++i) texts.emplace_back("p" + std::to_string(i), "range(20)");
  const TunableSpace free = built(texts, {"p0 == p11"});
  CHECK(free.size() == 204'800'000'000'000);
  CHECK(free.index_of(free.point(123'456'789'012'345)) == 123'456'789'012'345u);
}

TEST_CASE("constraints that contradict each other are named, and only they") {
  const Constraints constraints{"a < 5", "a + b > 15", "b != 3", "b <= a"};
  const TunableSpace space = built({{"a", "range(10)"}, {"b", "range(10)"}}, constraints);
  CHECK(space.size() == 0);
  const auto needed = contradiction(space);
  CHECK(TunableSpace::build(space.parameters(), needed)->size() == 0);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    Constraints without = needed;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(TunableSpace::build(space.parameters(), without)->size() > 0);
  }
}

TEST_CASE("what is wrong with a space is said") {
  CHECK(input_error({{"block", "[1]"}}, {"blok < 3"})
            .find("'blok' is not a parameter; did you mean 'block'?") != std::string::npos);
  CHECK(input_error({{"a", "[1]"}}, {"1 < 2"}) == "constraint '1 < 2' does not name a parameter");
  CHECK(input_error({{"a", "[1]"}}, {"a <"}).find("constraint 'a <': column 4") != std::string::npos);
  CHECK(input_error({{"a", "[1]"}, {"a", "[2]"}}, {}) == "two parameters are called a");
  CHECK(input_error({}, {}) == "the space has no parameters");
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 63; ++i) many.emplace_back("p" + std::to_string(i), "[0, 1]");
  CHECK(input_error(many, {}) == "the space has 63 parameters, at most 62 are accepted");
  many.pop_back();
  CHECK(built(many, {}).size() == std::uint64_t{1} << 62);
  many[0].second = "[0, 1, 2]";
  CHECK(input_error(many, {}) == "the space has more than 2^62 points");
}

TEST_CASE("lists of values are read as Python would") {
  const auto values = [](const std::string& text) {
    std::string joined;
    const auto list = parse_value_list(text);
    if (!list) return "error: " + list.error().message;
    for (const TuningValue& value : *list) joined += to_string(value) + " ";
    return joined;
  };
  CHECK(values("[1, 2, 4,]") == "1 2 4 ");
  CHECK(values("range(3)") == "0 1 2 ");
  CHECK(values("range(10, 0, -4)") == "10 6 2 ");
  CHECK(values("[1] + list(range(32, 32*3+1, 32))") == "1 32 64 96 ");
  CHECK(values("[2**i for i in range(0, 5) if i % 2 == 0]") == "1 4 16 ");
  CHECK(values("('a, b', \"c\", -1, 0.5, 1e3, True, True)") == "a, b c -1 0.5 1000 1 ");
  CHECK(values("[10/2]") == "5 ");
  CHECK(values("[]") == "error: the list of values is empty");
  CHECK(values("range(1, 2, 0)") == "error: range() with step 0");
  CHECK(values("open('x')").find("error: expected a list") == 0);
  CHECK(values("range(100000)") == "error: more than 65535 values");
}

TEST_CASE("no text makes the reader of value lists fail otherwise than by an error") {
  std::mt19937_64 engine(11);
  static constexpr std::string_view kPieces[] = {"[",    "]",    "(",      ")",     ",", "+",  " for ",
                                                 " in ", " if ", "range(", "list(", "i", "1",  "2**",
                                                 "'",    "\"",   ".5",     "-",     "%", "//", "e9"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t i = 0; i < engine() % 12; ++i) text += kPieces[engine() % std::size(kPieces)];
    const auto list = parse_value_list(text);
    if (!list) CHECK_FALSE(list.error().message.empty());
  }
}

}  // namespace
}  // namespace ak

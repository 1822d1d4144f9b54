// SPDX-License-Identifier: Apache-2.0
#include "core/plan/known_value.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/support/fuzz_iterations.h"

namespace ak {
namespace {

Expression expression_of(const std::string& text) { return Expression::parse(text).value(); }

const Environment kKnown{
    {"ONE", std::int64_t{1}}, {"FOUR", std::int64_t{4}}, {"dtype", std::string("bfloat16")}};

std::optional<bool> truth_of(const std::string& text) { return known_truth(expression_of(text), kKnown); }

/// A random expression of N, M and what is known.
std::string random_text(std::mt19937& random, int depth) {
  static const std::vector<std::string> leaves{"N", "M", "ONE", "FOUR", "0", "1", "3"};
  static const std::vector<std::string> joins{" and ", " or ", " + ",  " * ", " % ", " // ",
                                              " < ",   " == ", " >= ", " - ", " != "};
  if (depth == 0) return leaves[random() % leaves.size()];
  const auto part = [&] { return "(" + random_text(random, depth - 1) + ")"; };
  switch (random() % 6) {
    case 0:
      return "not " + part();
    case 1:
      return part() + " if " + part() + " else " + part();
    case 2:
      return "max(" + part() + ", " + part() + ")";
    case 3:
      return part() + (random() % 2 == 0 ? " in [" : " not in [") + part() + ", 1]";
    default:
      return part() + joins[random() % joins.size()] + part();
  }
}

}  // namespace

TEST_CASE("what decides an expression is enough, wherever it is") {
  CHECK(truth_of("N > 8 and FOUR > 8") == false);
  CHECK(truth_of("FOUR > 8 and N > 8") == false);
  CHECK(truth_of("N > 8 or dtype == 'bfloat16'") == true);
  CHECK(truth_of("N % ONE != 0") == false);
  CHECK(truth_of("N <= 8 and N % ONE != 0") == false);
  CHECK(truth_of("not (N % ONE == 0)") == false);
  CHECK(truth_of("dtype in ['float16', 'bfloat16']") == true);
  CHECK(truth_of("FOUR < ONE < N") == false);
  CHECK(truth_of("(FOUR if dtype == 'float32' else 0) == N * 0") == std::nullopt);
  CHECK(truth_of("ONE if N else FOUR") == std::nullopt);  // both are true, and their values differ
  CHECK(truth_of("N % FOUR == 0") == std::nullopt);
  CHECK(truth_of("1 // (ONE - 1)") == std::nullopt);
  CHECK(known_value(expression_of("FOUR * 8 // 3"), kKnown) == Value{std::int64_t{10}});
  CHECK(known_value(expression_of("N or ONE"), kKnown) == std::nullopt);
  CHECK(known_value(expression_of("N"), kKnown) == std::nullopt);
}

TEST_CASE("what is known holds for all values of the rest") {
  std::mt19937 random(5);
  int decided = 0;
  for (int i = 0; i < test::fuzz_iterations(4'000); ++i) {
    const std::string text = random_text(random, 3);
    const Expression expression = expression_of(text);
    const auto truth = known_truth(expression, kKnown);
    const auto value = known_value(expression, kKnown);
    decided += truth ? 1 : 0;
    for (const std::int64_t n : {0, 1, 2, 5, 64}) {
      Environment all = kKnown;
      all["N"] = n;
      all["M"] = (n * 7) % 5;
      const Result<Value> real = expression.evaluate(all);
      if (!real) continue;  // a division by zero, say
      INFO(text << " with N = " << n);
      if (truth) REQUIRE(expression.evaluate_bool(all).value() == *truth);
      if (value) REQUIRE(*real == *value);
    }
  }
  CHECK(decided > 300);
}

}  // namespace ak

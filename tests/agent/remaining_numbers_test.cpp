// SPDX-License-Identifier: Apache-2.0
#include "agent/search/remaining_numbers.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

namespace ak::agent {
namespace {

TEST_CASE("numbers are taken once each until none is left, and the rest can be drawn") {
  Engine engine(3);
  for (const std::uint64_t count : {1, 2, 7, 100}) {
    RemainingNumbers numbers(count);
    std::set<std::uint64_t> left;
    for (std::uint64_t i = 0; i < count; ++i) left.insert(i);
    while (!left.empty()) {
      REQUIRE(numbers.size() == left.size());
      const auto all = numbers.sample(engine, count + 5);
      REQUIRE(std::set(all.begin(), all.end()) == left);
      REQUIRE(all.size() == left.size());
      const std::uint64_t number = numbers.draw(engine);
      REQUIRE(left.erase(number) == 1);
      numbers.take(number);
      numbers.take(number);
      REQUIRE_FALSE(numbers.contains(number));
    }
    CHECK(numbers.size() == 0);
  }
}

TEST_CASE("what is left is drawn uniformly, alone and in samples") {
  Engine engine(11);
  RemainingNumbers numbers(9);
  for (const std::uint64_t number : {8, 0, 4}) numbers.take(number);
  std::map<std::uint64_t, int> drawn, sampled;
  for (int i = 0; i < 6000; ++i) {
    ++drawn[numbers.draw(engine)];
    for (const std::uint64_t number : numbers.sample(engine, 2)) ++sampled[number];
  }
  REQUIRE(drawn.size() == 6);
  // Binomial(6000, 1/6) and (6000, 1/3): standard deviations 29 and 37; the seed is fixed.
  for (const auto& [number, count] : drawn) CHECK(std::abs(count - 1000) < 5 * 29);
  for (const auto& [number, count] : sampled) CHECK(std::abs(count - 2000) < 5 * 37);
}

TEST_CASE("of 10^18 numbers only what moved is stored") {
  Engine engine(1);
  RemainingNumbers numbers(1'000'000'000'000'000'000ULL);
  std::set<std::uint64_t> taken;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = numbers.draw(engine);
    CHECK(taken.insert(number).second);
    numbers.take(number);
  }
  CHECK(numbers.size() == 999'999'999'999'999'000ULL);
}

}  // namespace
}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#include "core/learn/paired_statistics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace ak {
namespace {

std::vector<NumberPair> scaled(std::size_t count, double ratio, double noise, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> error(0, noise);
  std::vector<NumberPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const double first = 100.0 + static_cast<double>(i);
    pairs.push_back({first, first * ratio * std::exp(error(generator))});
  }
  return pairs;
}

TEST_CASE("the sign test gives the binomial's tails") {
  CHECK(sign_test(0, 0) == Approx(1));
  CHECK(sign_test(8, 0) == Approx(2.0 / 256));
  CHECK(sign_test(0, 8) == Approx(2.0 / 256));
  CHECK(sign_test(7, 1) == Approx(18.0 / 256));
  CHECK(sign_test(5, 5) == Approx(1));
}

TEST_CASE("the signed-rank test gives exact values of small samples, with ties and without") {
  CHECK(signed_rank_test(std::vector<double>{}) == Approx(1));
  CHECK(signed_rank_test(std::vector<double>{0, 0}) == Approx(1));
  CHECK(signed_rank_test(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}) == Approx(2.0 / 256));
  // The one negative has rank 1: of 2^5 signs, two give a sum of 1 or less.
  CHECK(signed_rank_test(std::vector<double>{-1, 2, 3, 4, 5}) == Approx(4.0 / 32));
  // Sizes 1, 1, 2: ranks 1.5, 1.5, 3; sums of 1.5 or less: none, the first, the second.
  CHECK(signed_rank_test(std::vector<double>{-1, 1, 2}) == Approx(6.0 / 8));
  CHECK(signed_rank_test(std::vector<double>{3, -3}) == Approx(1));
}

TEST_CASE("beyond 200 pairs the approximation continues where the exact test ends") {
  std::vector<double> differences;
  for (int i = 1; i <= 200; ++i) differences.push_back(i % 7 < 3 ? -i : i);
  const double exact = signed_rank_test(differences);
  differences.push_back(1e-3);  // the smallest of 201: changes next to nothing
  CHECK(signed_rank_test(differences) == Approx(exact).epsilon(0.05));
}

TEST_CASE("a clear difference is more than chance, noise and few pairs are not") {
  const PairedTest clear = test_pairs(scaled(20, 0.9, 0.02, 1)).value();
  CHECK(clear.ratio == Approx(0.9).epsilon(0.02));
  CHECK(clear.interval.low < clear.ratio);
  CHECK(clear.interval.high > clear.ratio);
  CHECK(clear.wins == 20);
  CHECK(clear.beyond_chance());
  CHECK_FALSE(test_pairs(scaled(20, 1.0, 0.05, 2))->beyond_chance());
  CHECK_FALSE(test_pairs(scaled(kMinPairs - 1, 0.5, 0.001, 3))->beyond_chance());
  CHECK(test_pairs(scaled(kMinPairs, 0.5, 0.001, 4))->beyond_chance());
}

TEST_CASE("turning pairs around turns the answer around, and the same pairs give the same answer") {
  std::vector<NumberPair> pairs = scaled(12, 0.8, 0.1, 5);
  const PairedTest one = test_pairs(pairs).value();
  CHECK(test_pairs(pairs)->interval.low == one.interval.low);
  for (NumberPair& pair : pairs) std::swap(pair.first, pair.second);
  const PairedTest other = test_pairs(pairs).value();
  CHECK(other.ratio == Approx(1 / one.ratio));
  CHECK(other.wins == one.losses);
  CHECK(other.wilcoxon_p == Approx(one.wilcoxon_p));
}

TEST_CASE("pairs within half a percent are ties, and none at all is not an answer") {
  const PairedTest test = test_pairs(std::vector<NumberPair>{{100, 100.4}, {100, 101}, {100, 90}}).value();
  CHECK(test.ties == 1);
  CHECK(test.losses == 1);
  CHECK(test.wins == 1);
  CHECK_FALSE(test_pairs({}).has_value());
}

TEST_CASE("chance alone is called more than chance about once in a hundred") {
  int called = 0;
  for (unsigned seed = 0; seed < 200; ++seed) called += test_pairs(scaled(12, 1, 0.1, seed))->beyond_chance();
  CHECK(called <= 8);
}

}  // namespace
}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
// The classifier that the tests of recognisable samples rely on.
#include "tests/support/boosted_trees.h"

#include <catch2/catch.hpp>
#include <random>

namespace ak::test {
namespace {

/// Ten features of noise; `difference` is added to one of them in half of the rows, in standard deviations.
LabelledRows rows_that_differ_by(double difference, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise;
  LabelledRows data;
  for (int row = 0; row < 1'000; ++row) {
    data.labels.push_back(row % 2 == 0);
    auto& features = data.rows.emplace_back();
    for (int i = 0; i < 10; ++i) features.push_back(noise(random));
    if (data.labels.back()) features[3] += difference;
  }
  return data;
}

TEST_CASE("rows of noise are not distinguished, and rows that differ in one feature are") {
  CHECK(tell_apart(rows_that_differ_by(0, 1), rows_that_differ_by(0, 2)).is_chance());
  const Accuracy small = tell_apart(rows_that_differ_by(0.5, 3), rows_that_differ_by(0.5, 4));
  CHECK(small.low > 0.5);
  CHECK(tell_apart(rows_that_differ_by(10, 5), rows_that_differ_by(10, 6)).share > 0.99);
}

}  // namespace
}  // namespace ak::test

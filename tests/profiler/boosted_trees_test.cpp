// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/boosted_trees.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"

namespace ak::profiler {
namespace {

/// z = x above 5 plus twice y, on a grid; where `y` is missing it counts as 3.
struct Grid {
  Grid() {
    for (int x = 0; x < 10; ++x) {
      for (int y = 0; y < 10; ++y) {
        Features features{{"x", x}};
        if (y != 3) features["y"] = y;
        rows.push_back(features);
        targets.push_back((x > 5 ? 1 : 0) + 0.2 * y);
      }
    }
    for (const Features& row : rows) set.features.push_back(&row);
    set.targets = targets;
    set.weights.assign(rows.size(), 1);
  }
  std::vector<Features> rows;
  std::vector<double> targets;
  RegressionSet set;
};

const BoostingOptions kOptions{
    .rounds = 200, .depth = 3, .learning_rate = 0.1, .smallest_leaf = 1, .leaf_l2 = 0.1};

TEST_CASE("trees recover what they were fitted to, also where a feature is not known") {
  const Grid grid;
  const BoostedTrees trees = BoostedTrees::fit(grid.set, kOptions);
  for (std::size_t i = 0; i < grid.rows.size(); ++i)
    CHECK(trees.predict(grid.rows[i]) == Approx(grid.targets[i]).margin(0.06));
}

TEST_CASE("trees that were never fitted predict nothing") { CHECK(BoostedTrees().predict({{"x", 1}}) == 0); }

TEST_CASE("the same set and seed give the same trees, another seed gives others") {
  const Grid grid;
  BoostingOptions other = kOptions;
  other.seed = 1;
  const std::string first = BoostedTrees::fit(grid.set, kOptions).to_json().dump();
  CHECK(BoostedTrees::fit(grid.set, kOptions).to_json().dump() == first);
  CHECK(BoostedTrees::fit(grid.set, other).to_json().dump() != first);
}

TEST_CASE("trees are the same after a round trip through text") {
  const Grid grid;
  const BoostedTrees trees = BoostedTrees::fit(grid.set, kOptions);
  const BoostedTrees read = BoostedTrees::from_json(parse_json(trees.to_json().dump()));
  for (const Features& row : grid.rows) CHECK(read.predict(row) == trees.predict(row));
}

TEST_CASE("trees of a broken file are refused, whatever is wrong with them") {
  const auto message = [](const char* text) -> std::string {
    try {
      static_cast<void>(BoostedTrees::from_json(parse_json(text)));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message(R"({"columns": ["x"]})"), Catch::Contains("trees"));
  CHECK_THAT(message(R"({"columns": ["x"], "trees": [[]]})"), Catch::Contains("no node"));
  // a node that is its own child would be walked for ever
  CHECK_THAT(message(R"({"columns": ["x"], "trees": [[[0, 1.5, 1, 0, 0]]]})"),
             Catch::Contains("later nodes"));
  CHECK_THAT(message(R"({"columns": ["x"], "trees": [[[7, 1.5, 1, 1, 2], [0], [0]]]})"),
             Catch::Contains("below 1"));
  CHECK_THAT(message(R"({"columns": ["x"], "trees": [[["a"]]]})"), Catch::Contains("trees of a model"));
}

}  // namespace
}  // namespace ak::profiler

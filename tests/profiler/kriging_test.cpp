// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/kriging.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"

using namespace ak;
using namespace ak::profiler;

namespace {

Features point(double x, double y) { return {{"x", x}, {"y", y}, {"same", 7}}; }

// Smooth in x, two levels in y.
double surface(double x, double y) { return std::sin(x) + (y > 0 ? 2 : 0); }

Kriging fitted(int rows) {
  std::vector<Features> features;
  std::vector<double> targets;
  for (int i = 0; i < rows; ++i) {
    const double x = 6.0 * i / rows, y = i % 2;
    features.push_back(point(x, y));
    targets.push_back(surface(x, y));
  }
  return Kriging::fit(features, targets);
}

}  // namespace

TEST_CASE("kriging finds a smooth surface between its rows") {
  const Kriging model = fitted(60);
  for (double x = 0.33; x < 5.5; x += 0.7) {
    for (const double y : {0.0, 1.0}) CHECK(model.predict(point(x, y)) == Approx(surface(x, y)).margin(0.02));
  }
}

TEST_CASE("far from all rows kriging returns to their mean") {
  const Kriging model = fitted(60);
  CHECK(model.predict(point(1e6, 0)) == Approx(1).margin(0.3));
  CHECK(Kriging().predict(point(0, 0)) == 0);
}

TEST_CASE("kriging keeps some of many rows, and a feature that is not known is a value of its own") {
  CHECK(fitted(5000).predict(point(2.0, 1)) == Approx(surface(2.0, 1)).margin(0.02));
  std::vector<Features> rows;
  std::vector<double> targets;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(i % 2 == 0 ? Features{{"x", i}} : Features{{"x", i}, {"y", std::nan("")}});
    rows.push_back({{"x", i}, {"y", i}});
    targets.insert(targets.end(), {5, 1});
  }
  CHECK(Kriging::fit(rows, targets).predict({{"x", 7.5}}) == Approx(5).margin(0.1));
}

TEST_CASE("kriging comes back from a file as it was, and a damaged file is refused") {
  const Kriging model = fitted(20);
  Json json = model.to_json();
  CHECK(Kriging::from_json(json).predict(point(1, 1)) == model.predict(point(1, 1)));
  json["answers"].erase(json["answers"].begin());
  CHECK_THROWS_AS(Kriging::from_json(json), Error);
  CHECK_THROWS_AS(Kriging::from_json(Json::object()), Error);
}

// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/reservoir.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

namespace ak::runtime {
namespace {

TEST_CASE("the first items are kept in order, and all of them while there is room") {
  std::mt19937_64 random(1);
  Reservoir reservoir(3);
  CHECK(reservoir.kept() == 0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(reservoir.place_next(random) == i);
  CHECK(reservoir.kept() == 3);
  for (int i = 0; i < 100; ++i) CHECK(reservoir.place_next(random) <= reservoir.places());
  CHECK(reservoir.kept() == 3);
}

TEST_CASE("each item of a stream is equally likely to be kept in the end") {
  constexpr std::size_t kPlaces = 4, kItems = 20, kStreams = 5'000;
  std::mt19937_64 random(7);
  std::array<int, kItems> kept{};
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    Reservoir reservoir(kPlaces);
    std::array<std::size_t, kPlaces + 1> places{};
    for (std::size_t item = 0; item < kItems; ++item) places[reservoir.place_next(random)] = item;
    for (std::size_t place = 0; place < kPlaces; ++place) ++kept[places[place]];
  }
  for (const int count : kept) {  // 1,000, of which the standard deviation is 28
    CHECK(count > 860);
    CHECK(count < 1140);
  }
}

}  // namespace
}  // namespace ak::runtime

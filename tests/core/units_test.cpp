// SPDX-License-Identifier: Apache-2.0
#include "core/units.h"

#include <catch2/catch.hpp>

using namespace ak;

TEST_CASE("units combine as physics does") {
  CHECK((Bytes(4'800) / Bandwidth(4.8)).value() == Approx(1'000));
  CHECK((Operations(990'000) / Throughput(990)).value() == Approx(1'000));
  CHECK((Nanoseconds(3) / Nanoseconds(2)).value() == 1.5);
  CHECK((Ratio(0.5) * Bytes(8)).value() == 4);
  CHECK((Bytes(8) - Bytes(2) + Bytes(1)).value() == 7);
  CHECK(Nanoseconds(1) < Nanoseconds(2));
  CHECK(Bandwidth(0).none());
  CHECK_FALSE(Bandwidth(1).none());
}

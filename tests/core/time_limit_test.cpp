// SPDX-License-Identifier: Apache-2.0
#include "core/time_limit.h"

#include <catch2/catch.hpp>
#include <limits>

namespace ak {

TEST_CASE("a limit that no clock holds is a century, and one below nothing is nothing") {
  using namespace std::chrono_literals;
  CHECK(time_limit(1.5) == 1'500ms);
  CHECK(time_limit(0) == 0ms);
  CHECK(time_limit(-1e300) == 0ms);
  const auto century = time_limit(1e300);
  CHECK(century / 24h == 36'525);
  CHECK(time_limit(std::numeric_limits<double>::infinity()) == century);
  CHECK(time_limit(std::numeric_limits<double>::quiet_NaN()) == century);
  CHECK(std::chrono::steady_clock::now() + century > std::chrono::steady_clock::now());
}

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/launch_footprint.h"

#include <catch2/catch.hpp>

using ak::emulator::LaunchFootprint;

TEST_CASE("a footprint counts every byte once, also where a range crosses pages") {
  LaunchFootprint touched;
  const std::uint64_t end_of_page = (1u << 16) - 2;
  for (int i = 0; i < 2; ++i) touched.add(end_of_page, 4, true);
  touched.add(end_of_page + 3, 4, true);
  CHECK(touched.bytes_written(0, 1u << 17) == 7);
  CHECK(touched.bytes_written(end_of_page + 2, 100) == 5);
  CHECK(touched.bytes_read(0, 1u << 17) == 0);
}

TEST_CASE("a read of what was written before is no read of an input") {
  LaunchFootprint touched;
  touched.add_input(0, 8);
  touched.add(4, 8, true);
  touched.add_input(4, 12);
  CHECK(touched.bytes_read(0, 64) == 12);
  CHECK(touched.bytes_written(0, 64) == 8);
}

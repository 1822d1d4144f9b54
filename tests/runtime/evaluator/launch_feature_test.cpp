// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/support/launch_feature_cases.h"

namespace ak::test {
namespace {

TEST_CASE(
    "on the emulator clusters, grid barriers, dependent launches and tensor maps work, and say what is too "
    "much") {
  EmulatorBench bench(kLaunchProblem);
  check_launches(bench);
}

}  // namespace
}  // namespace ak::test

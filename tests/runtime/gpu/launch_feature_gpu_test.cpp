// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/support/launch_feature_cases.h"

namespace ak::test {
namespace {

TEST_CASE("clusters, grid barriers, dependent launches and tensor maps work, and say what is too much") {
  std::string why;
  if (runtime::probe_devices(self_as_worker(), why).front().arch.major < 9) {
    WARN("the device has neither clusters nor tensor maps");
    return;
  }
  GpuBench bench(kLaunchProblem);
  check_launches(bench);
}

}  // namespace
}  // namespace ak::test

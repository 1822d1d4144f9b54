// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/support/device_bench.h"

namespace ak::test {

/// A launch that uses a feature beyond grid and block, or asks too much of it, and how it must end on a
/// device of compute capability 9.0.
struct LaunchCase {
  std::string name, plan, source;
  Status status = Status::ok;
  std::string message = "";  ///< part of the outcome's message
};
[[nodiscard]] std::vector<LaunchCase> launch_cases();

void check_launches(DeviceBench& bench);

/// The problem they are for: whole blocks and clusters.
inline const TinyProblem kLaunchProblem{.check_sizes = {4096}};

}  // namespace ak::test

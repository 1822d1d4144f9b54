// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

namespace ak::testing {

/// How long a test waits for what has to come. Far longer than that takes on the slowest machine at its
/// busiest: only what never comes fails.
inline constexpr std::chrono::minutes kPatience{10};

/// From now.
inline std::chrono::steady_clock::time_point out_of_patience() {
  return std::chrono::steady_clock::now() + kPatience;
}

/// Looks until `holds()` is true; false where it never was.
template <class Condition>
[[nodiscard]] bool in_the_end(Condition holds,
                              std::chrono::milliseconds between_looks = std::chrono::milliseconds(10)) {
  for (const auto deadline = out_of_patience(); !holds();) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

}  // namespace ak::testing

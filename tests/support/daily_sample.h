// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>

namespace ak::testing {

/// Whether a run of the tests tries row `index` of a table: one row of `turns`, others on other days; every row where
/// AK_SOAK_ITERATIONS is set (tools/soak.sh).
inline bool drawn_today(std::size_t index, std::size_t turns) {
  if (std::getenv("AK_SOAK_ITERATIONS") != nullptr) return true;
  const auto today =
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch().count();
  return (index + static_cast<std::size_t>(today)) % turns == 0;
}

}  // namespace ak::testing

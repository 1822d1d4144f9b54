// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace ak::test {

/// Rounds of a random test: AK_FUZZ_ITERATIONS raises them for a soak; else `usual`, sized for
/// under a second.
inline int fuzz_iterations(int usual) {
  const char* text = std::getenv("AK_FUZZ_ITERATIONS");
  return text == nullptr ? usual : std::stoi(text);
}

}  // namespace ak::test

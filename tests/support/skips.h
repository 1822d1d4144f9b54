// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <iostream>

namespace ak::testing {

/// Cases of this program that could not run here.
inline std::atomic<int> skipped_cases{0};

/// What a program of tests ends with: CTest shows one that skipped cases, and has no other fault, as skipped.
inline int exit_code_after(int failures) {
  constexpr int kSkipped = 77;
  if (skipped_cases == 0) return failures;
  std::cerr << skipped_cases << " test cases were skipped: the warnings above say why\n";
  return failures == 0 ? kSkipped : failures;
}

}  // namespace ak::testing

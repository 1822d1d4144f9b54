// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace ak::testing {

/// CTest shows a suite that ends with it as skipped.
inline constexpr int kSkippedExitCode = 77;
/// Cases of this program that could not run here.
inline std::atomic<int> skipped_cases{0};

}  // namespace ak::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/baseline/library_baseline.h"

namespace ak::runtime {

/// cuBLASLt for problems shaped like gemm (docs/problem.md, "baselines").
[[nodiscard]] Result<std::unique_ptr<LibraryBaseline>> open_cublaslt();
/// The same with the first algorithm that it proposes alone, which is what a program gets that does not try several.
[[nodiscard]] Result<std::unique_ptr<LibraryBaseline>> open_cublaslt_first();

}  // namespace ak::runtime

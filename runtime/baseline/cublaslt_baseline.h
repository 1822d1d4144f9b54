// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/baseline/library_baseline.h"

namespace ak::runtime {

/// cuBLASLt for problems shaped like gemm (docs/problem.md, "baselines").
[[nodiscard]] Result<std::unique_ptr<LibraryBaseline>> open_cublaslt();

}  // namespace ak::runtime

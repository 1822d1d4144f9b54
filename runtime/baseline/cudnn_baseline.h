// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/baseline/library_baseline.h"

namespace ak::runtime {

/// cuDNN for problems shaped like flash_attention (docs/problem.md, "baselines").
[[nodiscard]] Result<std::unique_ptr<LibraryBaseline>> open_cudnn();

}  // namespace ak::runtime

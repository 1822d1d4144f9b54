// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/outcome.h"

namespace ak::operations {

/// What to try after a failure, in words for who wrote the kernel; empty where there is nothing to say.
[[nodiscard]] std::string_view advice_for(Gate gate);
[[nodiscard]] std::string_view advice_for(Status status);

}  // namespace ak::operations

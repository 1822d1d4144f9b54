// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/device/arch.h"

namespace ak::runtime {

/// Runs a small kernel on the CPU device standing in for `target`. Empty when its results are right, else
/// what went wrong.
[[nodiscard]] std::string try_emulated_device(const Arch& target);

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/device_memory.h"

namespace ak::runtime {

/// Symbols of the variables in global and constant memory that an image declares, in its own order: of a cubin, or of
/// PTX text. Empty for what is neither.
[[nodiscard]] std::vector<std::string> variable_names(std::string_view image);

/// Where the variables of a module lie that was loaded from `image`, those left out that the driver gives
/// no address of.
[[nodiscard]] std::vector<BufferView> module_variables(const ModuleHandle& module, std::string_view image);

}  // namespace ak::runtime

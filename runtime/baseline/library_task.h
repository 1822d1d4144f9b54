// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/process/device_messages.h"

namespace ak::runtime {

// How a library knows the operation of a problem: by the names of its tensors and params.

/// Index into OpenProblem::tensors.
[[nodiscard]] std::optional<std::size_t> find_tensor(const OpenProblem& problem, std::string_view name);

/// The text of a param, or `otherwise` where the problem has none of that name.
[[nodiscard]] std::string param_or(const OpenProblem& problem, const std::string& name,
                                   const std::string& otherwise);

}  // namespace ak::runtime

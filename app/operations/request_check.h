// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/operations/operation.h"

namespace ak::operations {

/// What is wrong with a request, in one line that names the member and what was expected; empty when nothing
/// is. @param name of what is asked for
[[nodiscard]] std::string request_error(std::string_view name, std::span<const Parameter> parameters,
                                        const Json& request);

/// A checked request with the fallbacks of what it leaves out.
[[nodiscard]] Json with_fallbacks(const Operation& operation, const Json& request);

}  // namespace ak::operations

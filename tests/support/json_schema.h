// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/text/json.h"

namespace ak::testing {

/// Where and why a value does not fit a JSON Schema; empty where it fits. Knows the keywords that operations
/// use; any other one is an error, so that none is passed over.
[[nodiscard]] std::string schema_error(const Json& schema, const Json& value,
                                       const std::string& at = "value");

}  // namespace ak::testing

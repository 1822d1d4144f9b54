// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/text/json.h"

namespace ak {

/// The JSON value of a line that comes from outside, or why it has none: it is not UTF-8, no JSON, or nested
/// so deeply that handling it would take stack without bound. Never throws.
[[nodiscard]] Result<Json> parse_json_line(std::string_view line);

/// Compact, on one line, never throwing: bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string one_line(const Json& json);

}  // namespace ak

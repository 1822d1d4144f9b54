// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text/json_reader.h"
#include "core/text/quantity.h"

namespace ak {

// The numbers of core/text/quantity.h in JSON. Both throw JsonInputError naming the place and what was expected.

/// A JSON integer within the range.
[[nodiscard]] std::int64_t integer_in(const JsonReader& at, const IntegerRange& range);
/// A JSON number, in the quantity's own unit; a time, money or size may be a text with its unit, too: "2h".
[[nodiscard]] double quantity_in(const JsonReader& at, const QuantityRange& quantity);

}  // namespace ak

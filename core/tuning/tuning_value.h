// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "core/text/json.h"

namespace ak {

/// A value of a tuning parameter. Booleans are the integers 0 and 1.
using TuningValue = std::variant<std::int64_t, double, std::string>;

/// A parameter and the values it may take, in the order in which they are neighbours.
struct TuningParameter {
  std::string name;
  std::vector<TuningValue> values;  ///< distinct, at least one
};

/// As Python's str(): "16", "0.5", "2.0", "float4".
[[nodiscard]] std::string to_string(const TuningValue& value);
[[nodiscard]] Json to_json(const TuningValue& value);
/// A number, a boolean or a string. Errors: anything else, and an integer above 2^63 - 1.
[[nodiscard]] Result<TuningValue> tuning_value(const Json& json);

/// The values that a Python list expression stands for: lists and tuples of numbers, booleans and strings,
/// `range(...)`, `list(...)`, `tuple(...)`, comprehensions over one name with at most one `if`
/// (`[2**i for i in range(6) if i != 3]`), and sums of these. Of values written twice the first counts.
/// Errors: any other text, no value at all, more than 65,535.
[[nodiscard]] Result<std::vector<TuningValue>> parse_value_list(const std::string& text);

}  // namespace ak

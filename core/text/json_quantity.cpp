// SPDX-License-Identifier: Apache-2.0
#include "core/text/json_quantity.h"

namespace ak {

std::int64_t integer_in(const JsonReader& at, const IntegerRange& range) {
  const Json& json = at.json();
  // nlohmann keeps what exceeds 2^63 - 1 as unsigned; as a signed number it would be negative.
  const bool fits = json.is_number_integer() &&
                    !(json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  const std::int64_t value = fits ? json.get<std::int64_t>() : 0;
  if (!fits || value < range.min || value > range.max) at.fail(expected(range));
  return value;
}

double quantity_in(const JsonReader& at, const QuantityRange& quantity) {
  const Json& json = at.json();
  if (json.is_string() && quantity.kind != QuantityRange::Kind::number) {
    const Result<double> value = parse_quantity(json.get_ref<const std::string&>(), quantity);
    if (value) return *value;
  }
  if (!json.is_number() || !is_within(json.get<double>(), quantity)) at.fail(expected(quantity));
  return json.get<double>();
}

}  // namespace ak

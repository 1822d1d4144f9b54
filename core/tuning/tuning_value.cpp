// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/tuning_value.h"

#include <fmt/format.h>

#include <limits>

namespace ak {

std::string to_string(const TuningValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return std::get<std::string>(value);
}

Json to_json(const TuningValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Result<TuningValue> tuning_value(const Json& json) {
  if (json.is_boolean()) return TuningValue(std::int64_t{json.get<bool>() ? 1 : 0});
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return InputError{"an integer that does not fit in 64 bits"};
  if (json.is_number_integer()) return TuningValue(json.get<std::int64_t>());
  if (json.is_number()) return TuningValue(json.get<double>());
  if (json.is_string()) return TuningValue(json.get<std::string>());
  return InputError{fmt::format("expected a number, a boolean or a string, found {}", json.type_name())};
}

}  // namespace ak

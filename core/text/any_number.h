// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "core/text/json_reader.h"

namespace ak {

/// A number as JSON: those that JSON has none for are "nan", "inf" and "-inf".
[[nodiscard]] inline Json any_number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

/// The same with the sign of NaN: "-nan" where it has one.
[[nodiscard]] inline Json signed_number_json(double value) {
  return std::isnan(value) && std::signbit(value) ? Json("-nan") : any_number_json(value);
}

/// Reads what any_number_json() or signed_number_json() wrote. Throws JsonInputError.
[[nodiscard]] inline double any_number_from(const JsonReader& at) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Json& json = at.json();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (json == "nan" || json == "-nan") return json == "nan" ? kNan : -kNan;
  if (json == "inf" || json == "-inf") return json == "inf" ? kInfinity : -kInfinity;
  return at.number();
}

}  // namespace ak

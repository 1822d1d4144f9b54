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

/// Reads what any_number_json() wrote. Throws JsonInputError.
[[nodiscard]] inline double any_number_from(const JsonReader& at) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Json& json = at.json();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf" || json == "-inf") return json == "inf" ? kInfinity : -kInfinity;
  return at.number();
}

}  // namespace ak

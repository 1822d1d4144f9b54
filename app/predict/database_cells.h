// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "core/text/json.h"
#include "db/database.h"

namespace ak::app {

/// A query over a database of a million measurements takes seconds; longer than this it is stuck.
constexpr std::chrono::minutes kQueryPatience{5};

/// The members of a JSON object whose values are all integers.
template <class Map>
[[nodiscard]] Map integers_from(const Json& object) {
  Map values;
  for (const auto& [name, value] : object.items()) values[name] = value.template get<std::int64_t>();
  return values;
}

}  // namespace ak::app

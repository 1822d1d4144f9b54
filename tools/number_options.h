// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/text/quantity.h"

namespace ak::tools {

// Options whose values are numbers. All programs read them here: a number is finite and within its range, or the
// command line is refused with the name of the option and what was expected.

/// What an option's number becomes; called for each one given.
using SetInteger = std::function<void(std::int64_t)>;
using SetNumber = std::function<void(double)>;

CLI::Option* add_integer(CLI::App& app, const std::string& names, const IntegerRange& range, SetInteger set,
                         const std::string& help);
/// May be given several times.
CLI::Option* add_integers(CLI::App& app, const std::string& names, const IntegerRange& range, SetInteger set,
                          const std::string& help);
CLI::Option* add_quantity(CLI::App& app, const std::string& names, const QuantityRange& quantity,
                          SetNumber set, const std::string& help);

/// Of all numbers whose meaning has no bound of its own: rows of the database, seeds.
inline constexpr IntegerRange kAnyNumber{.min = 0, .max = INT64_MAX};

/// Sets a number or an optional number, whose type holds the whole range of the option.
template <class T>
auto into(T& value) {
  return [&value](auto given) {
    if constexpr (requires { typename T::value_type; }) {
      value = static_cast<typename T::value_type>(given);
    } else if constexpr (std::is_integral_v<T>) {
      AK_ASSERT(std::in_range<T>(given), "an option's variable holds its whole range");
      value = static_cast<T>(given);
    } else {
      value = given;
    }
  };
}

}  // namespace ak::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/plan/expression.h"

namespace ak {

/// What stands in the place of names.
using NameTexts = std::map<std::string, std::string, std::less<>>;

/// The text of an expression with names replaced: those of variables, not of functions, and nothing inside strings.
[[nodiscard]] std::string with_names_replaced(const Expression& expression, const NameTexts& texts);

/// A value as an expression writes it: `-3` in brackets, so that it may stand anywhere.
[[nodiscard]] std::string literal_text(const Value& value);

}  // namespace ak

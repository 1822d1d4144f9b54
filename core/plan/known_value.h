// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/plan/expression.h"

namespace ak {

/// What an expression gives whatever the names have that `known` lacks; nothing where it depends on them, or has
/// no value. `N % 1 == 0` and `N > 8 and 0` are known without N.
[[nodiscard]] std::optional<Value> known_value(const Expression& expression, const Environment& known);

/// Whether it is true, in the same sense: `N or 1` is true without N, though its value is not known.
[[nodiscard]] std::optional<bool> known_truth(const Expression& expression, const Environment& known);

}  // namespace ak

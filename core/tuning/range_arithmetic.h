// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tuning/condition.h"

namespace ak {

inline constexpr ValueRange kAnything{.kind = ValueRange::Kind::anything};
inline constexpr ValueRange kFault{.kind = ValueRange::Kind::fault};

[[nodiscard]] Truth negate(Truth truth);
[[nodiscard]] ValueRange from_truth(Truth truth);
/// Python's truth; texts have it (an empty one is never given the number of another).
[[nodiscard]] Truth truth_of(const ValueRange& value);
/// The smallest range that holds both.
[[nodiscard]] ValueRange join(const ValueRange& left, const ValueRange& right);
[[nodiscard]] ValueRange arithmetic(Operator op, const ValueRange& left, const ValueRange& right);
/// The same in the arithmetic of launch plans: an inexact `/` and a negative exponent have no value, and of what
/// doubles do not hold exactly nothing is known.
[[nodiscard]] ValueRange integer_arithmetic(Operator op, const ValueRange& left, const ValueRange& right);
/// Whether every integer of the range is below 2^53, so that no other rounds to the same double.
[[nodiscard]] bool is_exact(const ValueRange& value);
/// Neither is a fault. Of texts only equality means anything.
[[nodiscard]] Truth ordered(Operator op, const ValueRange& left, const ValueRange& right);

}  // namespace ak

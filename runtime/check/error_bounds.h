// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/plan/tolerance.h"
#include "runtime/check/comparison.h"

namespace ak::runtime {

/// What one rounding of the exact result costs at most, and as a root mean square over uniformly distributed
/// rounding errors. Relative like other errors.
struct RoundingError {
  double rms = 0, element = 0;
};

/// Of an output over several draws of its inputs: the scale of its values, and the twin's errors relative to it.
struct TypicalResult {
  double rms = 0, rms_error = 0, max_error = 0;
};

/// What an output's errors must stay within. Sized for one tensor: chance puts a few of many elements further
/// out than all others.
struct ErrorBounds {
  double rms = 0;            ///< of all errors; infinite for integers
  double element = 0;        ///< that all elements but `strays` are within
  double far = 0;            ///< that every element is within; for integers: 1 apart
  std::int64_t strays = 0;   ///< elements that may be beyond `element`
  std::int64_t unequal = 0;  ///< elements that may differ from the exact result, rounded once
};

/// The bounds of an output of `count` elements. @param twin the twin compared with the exact result
[[nodiscard]] ErrorBounds error_bounds(const Tolerance& tolerance, const OutputRule& rule, DType dtype,
                                       std::string_view distribution, const Comparison& twin,
                                       const RoundingError& rounding);

/// What a comparison failed at, in this order; `passed` where it did not.
enum class Judgement : std::uint8_t { passed, nonfinite, element, rms, unequal };
[[nodiscard]] Judgement judge(const Comparison& comparison, const ErrorBounds& bounds);

}  // namespace ak::runtime

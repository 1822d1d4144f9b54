// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/dtype.h"

namespace ak {

/// What is estimated from few elements varies: bounds that follow from so many are wider by this factor (chosen;
/// tests/runtime/check/error_bounds_test.cpp has honest kernels with a few elements).
[[nodiscard]] inline double small_sample_factor(std::int64_t elements) {
  return 1 + 4 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, elements)));
}

/// How much larger the roundoff of the next poorer mantissa is: that of float32 instead of float64, of
/// bfloat16 instead of float32, 3 bits instead of those of a 16-bit type, 1 bit instead of those of an 8-bit
/// one; 1 for integers.
[[nodiscard]] constexpr double steps_to_poorer_mantissa(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p29;
    case DType::float32:
      return 0x1p16;
    case DType::float16:
      return 0x1p7;
    case DType::bfloat16:
      return 0x1p4;
    case DType::float8_e4m3fn:
      return 0x1p2;
    case DType::float8_e5m2:
      return 0x1p1;
    default:
      return 1;
  }
}

// An honest bf16 norm with a rounded intermediate has one error in some millions that is far out: of many
// elements one in 100,000 may be, and one of any tensor that is more than a handful of numbers; all of them
// within a few times the bound (chosen; tests/runtime/check/error_bounds_test.cpp has both sides).
inline constexpr std::int64_t kElementsPerStray = 100'000;
inline constexpr std::int64_t kFewElements = 100;
inline constexpr double kStrayReach = 4;
[[nodiscard]] constexpr std::int64_t strays_allowed(std::int64_t elements) {
  return elements < kFewElements ? 0 : 1 + elements / kElementsPerStray;
}

/// How one output is judged (docs/problem.md#tolerance).
struct OutputRule {
  double factor = 4;      ///< errors may be so many times the twin's
  double floor_ulps = 2;  ///< the twin's error counts as at least this many unit roundoffs
  bool per_row = false;   ///< errors are relative to the scale of their row, not to that of the tensor
  bool exact = false;     ///< under every distribution the exact result, rounded once
  std::vector<std::string> exact_on = {};  ///< the same under these distributions
  std::optional<double> equal_share = {};  ///< at least this share is the exact result, rounded once
  bool set = false;                        ///< the order of a row's elements is free
  std::string gather = {};                 ///< input that the output's indices select from; empty: no indices

  [[nodiscard]] bool must_be_exact(std::string_view distribution) const {
    return exact || std::find(exact_on.begin(), exact_on.end(), distribution) != exact_on.end();
  }
  /// It is not the output's elements that are compared, but what they select, or the same in order.
  [[nodiscard]] bool has_view() const { return set || !gather.empty(); }
};

/// How right a result must be, derived from the error of the honest low-precision twin on the
/// same inputs (docs/checking.md).
struct Tolerance {
  double factor = 4;
  double floor_ulps = 2;
  std::string reason;
  bool allow_nondeterministic =
      false;                           ///< float atomics permitted: repeated runs may differ within tolerance
  std::optional<DType> internal = {};  ///< lower precision that is permitted inside
  /// No error of an element may be above it, whatever the twin's is: what a user asks for above the problem.
  std::optional<double> most_error = {};
  std::map<std::string, OutputRule, std::less<>> outputs = {};  ///< those that the problem names

  [[nodiscard]] OutputRule rule(std::string_view output) const {
    const auto named = outputs.find(output);
    return named == outputs.end() ? OutputRule{.factor = factor, .floor_ulps = floor_ulps} : named->second;
  }
  /// The type whose roundoff is that of a correct kernel: the output's, or a poorer one that is permitted inside.
  [[nodiscard]] DType working_type(DType output) const {
    const bool poorer =
        internal && info(output).floating && info(*internal).unit_roundoff > info(output).unit_roundoff;
    return poorer ? *internal : output;
  }
  /// An output is judged by a view of it.
  [[nodiscard]] bool has_views() const {
    return std::any_of(outputs.begin(), outputs.end(), [](const auto& row) { return row.second.has_view(); });
  }
};

}  // namespace ak

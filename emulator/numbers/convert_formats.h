// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/numbers/rounding.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {

// The scalar float types of cvt for its handlers. Stored: as lanes hold it; Value: float or double, exact.

struct HalfFormat {
  using Stored = std::uint16_t;
  using Value = float;
  static constexpr bool kFtz = false;  ///< .ftz concerns f32 alone
  [[nodiscard]] static Value read(Stored code) { return f16_to_float(code); }
  template <Rounding kRounding, class Source>
  [[nodiscard]] static Stored write(Source value) {
    if constexpr (sizeof(Source) == 4 && kRounding == Rounding::nearest_even)
      return static_cast<Stored>(float_to_f16(value));
    else
      return static_cast<Stored>(encode<kF16, kRounding>(value));
  }
  static constexpr float kLargest = 65504.0f;
};

struct BfloatFormat {
  using Stored = std::uint16_t;
  using Value = float;
  static constexpr bool kFtz = false;
  [[nodiscard]] static Value read(Stored code) { return bf16_to_float(code); }
  template <Rounding kRounding, class Source>
  [[nodiscard]] static Stored write(Source value) {
    return static_cast<Stored>(encode<kBf16, kRounding>(value));
  }
  static constexpr float kLargest = 0x1.FEp127f;
};

struct SingleFormat {
  using Stored = float;
  using Value = float;
  static constexpr bool kFtz = true;
  [[nodiscard]] static Value read(Stored value) { return canonical(value); }
  template <Rounding kRounding>
  [[nodiscard]] static Stored write(float value) {
    return value;
  }
  template <Rounding kRounding>
  [[nodiscard]] static Stored write(double value) {
    return canonical(round_to_float<kRounding>(value));
  }
  static constexpr float kLargest = 0x1.FFFFFEp127f;
};

struct DoubleFormat {
  using Stored = double;
  using Value = double;
  static constexpr bool kFtz = false;
  [[nodiscard]] static Value read(Stored value) { return value; }
  template <Rounding kRounding, class Source>
  [[nodiscard]] static Stored write(Source value) {
    return static_cast<double>(value);
  }
  static constexpr double kLargest = 0x1.FFFFFFFFFFFFFp1023;
};

/// .relu: negative numbers and -0 become 0; NaN stays.
template <class Value>
[[nodiscard]] inline Value clamp_negative(Value value) {
  const Value positive = value > 0 ? value : Value{0};
  return value != value ? value : positive;
}
/// .sat: [0, 1]; NaN becomes 0.
template <class Value>
[[nodiscard]] inline Value clamp_unit(Value value) {
  const Value positive = value > 0 ? value : Value{0};
  return positive < 1 ? positive : Value{1};
}
/// .satfinite: [-largest, largest]; NaN stays. Ahead of the rounding, which cannot leave that range then.
template <class Value>
[[nodiscard]] inline Value clamp_magnitude(Value value, Value largest) {
  value = value > largest ? largest : value;
  return value < -largest ? -largest : value;
}
/// To a whole number.
template <Rounding kRounding, class Value>
[[nodiscard]] inline Value round_whole(Value value) {
  if constexpr (kRounding == Rounding::nearest_even) return std::nearbyint(value);
  if constexpr (kRounding == Rounding::toward_zero) return std::trunc(value);
  if constexpr (kRounding == Rounding::down) return std::floor(value);
  return std::ceil(value);
}

}  // namespace ak::emulator

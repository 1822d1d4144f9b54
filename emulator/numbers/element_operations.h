// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "emulator/numbers/rounding.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {

// What PTX makes of two elements, the same in arithmetic, atomics, reductions and video instructions: f(old, operand).
// std::plus and its like take the rest.

struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Greatest {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};

/// inc: counts up to the limit, then starts at 0.
struct CountUp {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t limit) const {
    return old >= limit ? 0 : old + 1;
  }
};
/// dec: counts down to 0, then starts at the limit.
struct CountDown {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t limit) const {
    return old == 0 || old > limit ? limit : old - 1;
  }
};

/// Subnormal operands and results become zero.
struct FlushedSum {
  float operator()(float a, float b) const { return canonical(flush(flush(a) + flush(b))); }
};

// Half types keep subnormals. A sum of two is exact enough in a float that rounding it again rounds once: 24 bits are
// more than twice 11 and two.
struct HalfSum {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return static_cast<std::uint16_t>(float_to_f16(f16_to_float(a) + f16_to_float(b)));
  }
};
struct BfloatSum {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return static_cast<std::uint16_t>(float_to_bf16(bf16_to_float(a) + bf16_to_float(b)));
  }
};

/// Least or greatest of two halves: a number wins against a NaN; -0 is less than +0.
template <float (*kWiden)(std::uint32_t), bool kGreatest>
struct ChosenHalf {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    const float x = kWiden(a), y = kWiden(b);
    if (x != x) return y != y ? static_cast<std::uint16_t>(kCanonicalHalfNan) : b;
    if (y != y) return a;
    const bool first_is_less = x != y ? x < y : (a & 0x8000u) != 0;
    return first_is_less != kGreatest ? a : b;
  }
};
using LeastHalf = ChosenHalf<f16_to_float, false>;
using GreatestHalf = ChosenHalf<f16_to_float, true>;
using LeastBfloat = ChosenHalf<bf16_to_float, false>;
using GreatestBfloat = ChosenHalf<bf16_to_float, true>;

}  // namespace ak::emulator

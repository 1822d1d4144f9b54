// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace ak::emulator::test {

enum class Direction { nearest, zero, down, up, away };

/// A floating-point format as the list of its numbers: what conversions are judged by.
class SlowFormat {
 public:
  /// `largest`: code of the largest number; after it comes infinity if there is one. `nan`: code
  /// given for NaN.
  SlowFormat(int exponent_bits, int mantissa_bits, int bias, std::uint32_t largest, std::uint32_t nan,
             bool has_infinity)
      : sign_bit_(exponent_bits + mantissa_bits), largest_(largest), nan_(nan), has_infinity_(has_infinity) {
    const int scale = 1 << mantissa_bits;
    for (std::uint32_t code = 0; code <= largest + 1; ++code) {
      const int field = static_cast<int>(code) / scale, fraction = static_cast<int>(code) % scale;
      const int whole = field == 0 ? fraction : fraction + scale;
      magnitudes_.push_back(
          std::ldexp(static_cast<long double>(whole), std::max(field, 1) - bias - mantissa_bits));
    }
  }

  [[nodiscard]] long double value(std::uint32_t code) const {
    const std::uint32_t magnitude = code & ((1u << sign_bit_) - 1);
    long double number = std::numeric_limits<long double>::quiet_NaN();
    if (magnitude <= largest_) number = magnitudes_[magnitude];
    if (has_infinity_ && magnitude == largest_ + 1) number = std::numeric_limits<long double>::infinity();
    return (code >> sign_bit_ & 1) != 0 ? -number : number;
  }
  [[nodiscard]] bool subnormal(std::uint32_t code, int mantissa_bits) const {
    const std::uint32_t magnitude = code & ((1u << sign_bit_) - 1);
    return magnitude != 0 && magnitude >> mantissa_bits == 0;
  }

  /// Code of `number` + an `error` too small for it (only its sign counts).
  [[nodiscard]] std::uint32_t round(long double number, long double error, Direction direction,
                                    bool satfinite = false) const {
    if (std::isnan(number)) return nan_;
    const bool negative = std::signbit(number);
    const long double size = std::fabs(number);
    const long double rest = negative ? -error : error;
    return round_size(size, rest, negative, direction, satfinite) | std::uint32_t{negative} << sign_bit_;
  }

 private:
  [[nodiscard]] std::uint32_t beyond() const { return has_infinity_ ? largest_ + 1 : nan_; }

  [[nodiscard]] std::uint32_t round_size(long double size, long double rest, bool negative,
                                         Direction direction, bool satfinite) const {
    if (std::isinf(size)) return satfinite ? largest_ : beyond();
    // The last entry at or below the exact number.
    auto above = std::upper_bound(magnitudes_.begin(), magnitudes_.end(), size);
    if (above != magnitudes_.begin() && *(above - 1) == size && rest < 0) --above;
    const auto low = static_cast<std::uint32_t>(above - magnitudes_.begin()) - 1;
    std::uint32_t code = low;
    if (low <= largest_ && (size != magnitudes_[low] || rest != 0))
      code += upward(size, rest, low, negative, direction) ? 1 : 0;
    if (code <= largest_) return code;
    const bool finite = satfinite || direction == Direction::zero ||
                        (direction == Direction::down && !negative) ||
                        (direction == Direction::up && negative);
    return finite ? largest_ : beyond();
  }

  [[nodiscard]] bool upward(long double size, long double rest, std::uint32_t low, bool negative,
                            Direction direction) const {
    if (direction == Direction::zero) return false;
    if (direction == Direction::down) return negative;
    if (direction == Direction::up) return !negative;
    const long double middle = (magnitudes_[low] + magnitudes_[low + 1]) / 2;
    if (size != middle) return size > middle;
    if (rest != 0) return rest > 0;
    return direction == Direction::away || low % 2 == 1;
  }

  int sign_bit_;
  std::uint32_t largest_, nan_;
  bool has_infinity_;
  std::vector<long double> magnitudes_;
};

inline const SlowFormat& slow_f16() {
  static const SlowFormat format(5, 10, 15, 0x7BFF, 0x7FFF, true);
  return format;
}
inline const SlowFormat& slow_bf16() {
  static const SlowFormat format(8, 7, 127, 0x7F7F, 0x7FFF, true);
  return format;
}

}  // namespace ak::emulator::test

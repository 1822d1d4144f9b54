// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/emulator/differential/differential_case.h"

namespace ak::emulator::differential {

/// splitmix64: the same numbers on every host, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  /// 0 ... bound - 1.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((bits() >> 32) % bound); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  template <class Range>
  const auto& pick(const Range& range) {
    return range[below(static_cast<std::uint32_t>(range.size()))];
  }

 private:
  std::uint64_t state_;
};

/// A value of `type` ("f32", "s16", "f16x2", "shift", ...) in the low bits: mostly one from the
/// table of edge values, else random.
[[nodiscard]] std::uint64_t value_of(std::string_view type, Random& random);
/// Width of a register for `type`: 16, 32 or 64.
[[nodiscard]] int register_bits_of(std::string_view type);
/// How results of `type` are read.
[[nodiscard]] Number number_of(std::string_view type);

[[nodiscard]] Suite integer_sweep();  ///< integer, logic, compare and bit instructions
[[nodiscard]] Suite float_sweep();    ///< f32 and f64, approximate functions
[[nodiscard]] Suite half_sweep();     ///< f16 and bf16
[[nodiscard]] Suite convert_sweep();  ///< cvt
[[nodiscard]] Suite atomic_sweep();   ///< atom, red: one thread at a time
/// Sequences with branches, loops, calls, shuffles, shared and local memory.
/// @param count programs beginning with that of `first_seed`.
[[nodiscard]] Suite random_programs(std::uint64_t first_seed, int count);
inline constexpr int kRecordedPrograms = 400;  ///< in all_suites()
[[nodiscard]] Suite matrix_products();         ///< mma, wmma
[[nodiscard]] Suite matrix_movements();        ///< ldmatrix, stmatrix, movmatrix

}  // namespace ak::emulator::differential

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/differential/generator.h"

namespace ak::emulator::differential {

inline constexpr Rule kExact{};
inline constexpr Rule kAnyNan{Agreement::any_nan};
inline constexpr Rule close_to(double relative, double absolute = 0) {
  return {Agreement::close, relative, absolute};
}

/// Kernels that each run one instruction on many operands.
class Sweep {
 public:
  explicit Sweep(std::string name) { suite_.name = std::move(name); }

  /// @param instruction reads %a, %b, %c and writes %d; also free: %t, %u (b32), %p, %q, %r (pred).
  /// @param result type of %d, or "flag": a small number in a b32 register.
  /// @param operands types of %a, %b, %c: see value_of().
  void add(const std::string& instruction, std::string_view result, const std::vector<std::string>& operands,
           Rule rule = kExact);

  [[nodiscard]] Suite take() { return std::move(suite_); }

 private:
  Suite suite_;
};

}  // namespace ak::emulator::differential

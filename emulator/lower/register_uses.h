// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ak::emulator {

/// A register that an op reads or writes: rows of 32 lanes of 4 bytes in a warp's registers.
struct RegisterUse {
  std::uint32_t row = 0;
  std::uint8_t rows = 1;
  bool written = false;
};

/// What every op of a program does to registers. Kept for programs with wgmma only.
struct RegisterUses {
  std::vector<RegisterUse> uses;
  std::vector<std::uint32_t> end;  ///< by op: end of its uses, which begin where those of the op before end
  std::vector<bool> moves;         ///< by op: it only copies

  [[nodiscard]] std::span<const RegisterUse> of(std::uint32_t op) const {
    const std::size_t first = op == 0 ? 0 : end[op - 1];
    return {uses.data() + first, end[op] - first};
  }
};

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// Width of a special register that is kept as a row; throws UnsupportedInstruction for one that is not
/// covered. Clocks are not rows: they change.
[[nodiscard]] int special_bits(const std::string& name);
/// Throws UnsupportedInstruction, which says what the register is.
[[noreturn]] void refuse_special(const std::string& name);
/// Value of a name that is a constant to every program (WARP_SZ); nothing for others.
[[nodiscard]] std::optional<std::uint64_t> constant_special(const std::string& name);
/// First bytes of shared memory that belong to the system, in programs that ask where they are: 1 KiB per block
/// from sm_80 on (CUDA C++ Programming Guide, "Shared Memory"). Groups of several warps meet there.
inline constexpr std::uint32_t kReservedSharedBytes = 1024;
[[nodiscard]] bool names_reserved_shared(const std::string& name);
/// The rows of Program::specials, found by name once a launch.
class SpecialRows {
 public:
  explicit SpecialRows(const Program& program);
  /// Fills them for a warp that is about to start.
  void fill(Warp& warp) const;

 private:
  struct Filled {
    void (*fill)(const Warp&, std::uint64_t* lanes);
    Slot slot;
    bool wide;  ///< 64 bits
  };
  std::vector<Filled> rows_;
};
/// True when the program asks for the cooperative grid's workspace.
[[nodiscard]] bool reads_grid_workspace(const Program& program);

}  // namespace ak::emulator

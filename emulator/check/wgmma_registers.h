// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// Which registers of one warp wgmma may still be writing, and which were written without a wgmma.fence
/// behind (PTX ISA 9.0, "wgmma.mma_async", "wgmma.fence"). Lanes are not distinguished.
///
/// A copy between registers does not count as a use: compilers put some around every wgmma. A fence anywhere
/// since the last wait counts for all registers, because compilers also move computations across it.
class WgmmaRegisters {
 public:
  explicit WgmmaRegisters(const Program& program);

  /// Before an op other than wgmma runs; reports what it must not read.
  void step(Warp& warp, Index op);
  /// A multiplication of `accumulators`, which it reads if it `accumulates`, with A in `a` if in registers.
  void multiply(Warp& warp, const Op& op, std::span<const Slot> accumulators, bool accumulates,
                std::span<const Slot> a);
  void fence();
  void commit() { ++open_group_; }
  void wait(std::uint64_t groups_left);

 private:
  struct Row {
    std::uint64_t group = 0;  ///< that writes it; 0: none
    Index op = kNone;         ///< the multiplication
    bool written = false;     ///< by another instruction, since the last fence
  };
  [[nodiscard]] bool any_written(std::span<const Slot> slots) const;
  void copy(std::span<const RegisterUse> uses);

  const Program& program_;
  std::vector<Row> rows_;
  std::uint64_t open_group_ = 1;
  bool ever_fenced_ = false, fenced_since_wait_ = false;
};

}  // namespace ak::emulator

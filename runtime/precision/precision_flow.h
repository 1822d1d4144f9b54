// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "emulator/parse/ast.h"

namespace ak::runtime {

/// What floats a problem's data are, and what may become of them.
struct DataFormat {
  bool wide = false;       ///< the inputs are float64; else float32
  int mantissa_bits = 23;  ///< that arithmetic must keep: 52, 23, or 10 where tf32 is allowed
};

/// Data that lost precision on its way into arithmetic.
struct NarrowedUse {
  int narrowed_line = 0;             ///< PTX line where bits were dropped; 0: where it is used
  int used_line = 0;                 ///< PTX line of the arithmetic
  std::string narrowed_by, used_by;  ///< the instructions
};

/// Follows floats from global memory through registers, memory and calls, and finds the first arithmetic with
/// one that lost bits of its mantissa: rounded to a shorter format, masked, shifted, permuted or stored in
/// part, or made an integer of 16 bits and less. Storing such a value is no arithmetic; bits that come together
/// again are whole; exponents alone, indices and hashes are no floats. Registers are followed without regard to
/// the order of instructions; shared, local and global memory are one cell each; a call through a register
/// reaches every function.
[[nodiscard]] std::optional<NarrowedUse> find_narrowed_use(const emulator::Module& module,
                                                           const DataFormat& format);

}  // namespace ak::runtime

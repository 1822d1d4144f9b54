// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "emulator/parse/ast.h"

namespace ak::emulator {

/// Instructions that the CPU device refuses by name, as docs/cpu_device.md lists them.
struct Refusal {
  std::string_view opcode;
  std::string_view modifier;  ///< of the instructions meant; empty: all of the opcode
  std::string_view what;      ///< "sparse products"
};
[[nodiscard]] std::span<const Refusal> refusals();

/// Null when the instruction is none of them.
[[nodiscard]] const Refusal* refusal_of(const Instruction& instruction);

}  // namespace ak::emulator

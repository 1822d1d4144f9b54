// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "emulator/lower/control_flow.h"
#include "emulator/lower/lowering.h"

namespace ak::emulator {

/// How a register is kept: predicates as bit masks, others with 4, 8 or 16 bytes per lane. Slots of different
/// classes never share memory: lanes of a split warp would overwrite each other's.
enum class RegisterClass : std::uint8_t { predicate, bytes4, bytes8, bytes16 };
inline constexpr int kRegisterClasses = 4;
[[nodiscard]] RegisterClass register_class_of(Type type);

/// Of one function: for every register a number within its class, reused once its value is dead.
struct Allocation {
  std::vector<Index> number;                   ///< by register; kNone: never used
  std::array<Index, kRegisterClasses> used{};  ///< numbers handed out, by class
};

/// What an instruction does to its operands, from the family tables.
struct OperandRoles {
  int definitions = 1;
  bool reads_definitions = false;
};
[[nodiscard]] OperandRoles roles_of(const Instruction& instruction);

/// Linear scan over live intervals (Poletto and Sarkar, "Linear Scan Register Allocation", 1999). NVRTC's
/// PTX is in single-assignment form with thousands of registers: without reuse a warp's registers would not
/// fit any cache.
[[nodiscard]] Allocation allocate_registers(const Function& function, const ControlFlow& flow);

}  // namespace ak::emulator

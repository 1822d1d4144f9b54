// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/parse/ast.h"

namespace ak::emulator {

/// How what an instruction writes depends on what it reads, as far as it matters for values that
/// no one wrote.
enum class FlowKind : std::uint8_t {
  compute,        ///< every result depends on every byte of every source of the lane
  copy,           ///< bytes of the sources, in order
  resize,         ///< an integer of another width, filled with zeros
  resize_signed,  ///< the same, filled with the sign
  bitwise,        ///< byte by byte
  bits_and,       ///< byte by byte; with a zero the other does not matter
  bits_or,        ///< byte by byte; with all ones the other does not matter
  choose,         ///< one of two sources, by a predicate
  across,         ///< of all lanes
  by_handler,  ///< loads and stores: who executes them knows the places, and what of the results is undefined
  by_executor,      ///< shuffles and products of matrices: who executes them says all of the results
  nothing_written,  ///< the instruction acts on its sources
};
[[nodiscard]] FlowKind flow_of(const Instruction& instruction);

/// An operand as it was lowered.
struct FlowOperand {
  enum class Role : std::uint8_t { read, written, address, predicate_read, predicate_written };
  std::uint32_t slot = 0;  ///< a Slot or PredicateSlot
  std::uint8_t bytes = 0;  ///< of its value in a lane
  Role role = Role::read;
};

/// Operands [first, first + count) of Program::flow_operands.
struct ValueFlow {
  FlowKind kind = FlowKind::compute;
  std::uint32_t first = 0, count = 0;
};

}  // namespace ak::emulator

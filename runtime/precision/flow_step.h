// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/parse/ast.h"
#include "runtime/precision/flow_state.h"

namespace ak::runtime::flow {

/// One instruction that is being applied.
struct Step {
  FlowState& state;
  const DataFormat& format;
  const emulator::Instruction& instruction;
  std::span<const emulator::Type> types;  ///< among the modifiers, in their order
  std::optional<NarrowedUse> found = std::nullopt;

  [[nodiscard]] std::size_t count() const { return instruction.operands.size(); }
  [[nodiscard]] const emulator::Operand& operand(std::size_t i) const { return instruction.operands[i]; }
  [[nodiscard]] Word word(std::size_t i) const { return i < count() ? read(operand(i)) : Word::unknown(); }
  /// A number of the program's text as one of this instruction's width.
  [[nodiscard]] Word read(const emulator::Operand& operand) const;
  [[nodiscard]] emulator::Type type() const { return types.empty() ? emulator::Type::b32 : types.back(); }
  [[nodiscard]] int width() const { return emulator::bits(type()); }
  [[nodiscard]] int line() const { return instruction.ptx_line; }
  void result(Word word);
  /// Visits the words of operands from `first` on, those of lists one by one, and not of addresses. A word may be a
  /// register's own, which ends to be what it was when something is written.
  template <class Visit>
  void each_source(Visit visit, std::size_t first = 1) const {
    for (std::size_t i = first; i < count(); ++i) visit_source(operand(i), visit);
  }
  void use(const FloatPart& part);

 private:
  template <class Visit>
  void visit_source(const emulator::Operand& operand, Visit& visit) const {
    using enum emulator::OperandKind;
    if (operand.kind == reg) return visit(state.word_of_register(operand));
    if (operand.kind != list) return operand.kind == address ? void() : visit(read(operand));
    for (const emulator::Operand& element : operand.elements) visit_source(element, visit);
  }
};

/// The last type is that of a float.
[[nodiscard]] bool floats_only(const Step& step);
[[nodiscard]] bool is_wide(emulator::Type type);
/// A format with a shorter mantissa than the data's.
[[nodiscard]] bool is_shorter(emulator::Type type, const DataFormat& format);
/// Whether a part lost bits of its mantissa: as an operand that is a float.
[[nodiscard]] bool is_narrowed_float(const FloatPart& part, const DataFormat& format);
/// The same as an operand that is an integer, wherever its bits are.
[[nodiscard]] bool is_narrowed_integer(const FloatPart& part, const DataFormat& format);

/// Any of an instruction's sources.
[[nodiscard]] Word either(const Step& step);
/// Bits changed by a number that the launch gives; functions of the device's library shift by exponents.
[[nodiscard]] Word unclear(const Step& step, const Word& from, const Word& by);

}  // namespace ak::runtime::flow

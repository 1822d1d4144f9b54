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
  /// Registers among the operands from `first` on, those of lists one by one.
  [[nodiscard]] std::vector<Word> sources(std::size_t first = 1) const;
  void use(const FloatPart& part);
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

[[nodiscard]] bool has_data(std::span<const Word> words);
[[nodiscard]] Word either(std::span<const Word> words);
/// Bits changed by a number that the launch gives; functions of the device's library shift by exponents.
[[nodiscard]] Word unclear(const Step& step, const Word& from, const Word& by);

}  // namespace ak::runtime::flow

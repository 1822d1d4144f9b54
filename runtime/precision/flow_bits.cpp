// SPDX-License-Identifier: Apache-2.0
// Moves, and instructions that put bits elsewhere.
#include <algorithm>
#include <array>
#include <bit>

#include "runtime/precision/flow_rules.h"

namespace ak::runtime::flow {
namespace {

using emulator::Operand;
using emulator::OperandKind;

std::uint8_t table_of(const Step& step) {
  if (step.instruction.opcode == "and") return 0xF0 & 0xCC;
  if (step.instruction.opcode == "or") return 0xF0 | 0xCC;
  return 0xF0 ^ 0xCC;
}

Word shifted(Step& step, const Word& from, const Word& by, bool left) {
  if (from.known == Known::unset || by.known == Known::unset) return {};
  if (!by.is_constant()) return unclear(step, from, by);
  const int width = step.width(), bits = static_cast<int>(std::min<std::uint64_t>(by.constant, 64));
  Word word = Word::unknown();
  if (from.is_constant() && bits < 64)
    word = Word::number((left ? from.constant << bits : (from.constant & low_bits(width)) >> bits) &
                        low_bits(width));
  word.parts = moved(from.parts, left ? bits : -bits, width, step.line());
  return word;
}

}  // namespace

void move(Step& step) {
  const Operand &to = step.operand(0), &from = step.operand(1);
  if (to.kind == OperandKind::list) {
    const int each = step.width() / std::max(1, static_cast<int>(to.elements.size()));
    const Word whole = step.word(1);
    for (std::size_t i = 0; i < to.elements.size(); ++i) {
      Word part = Word::unknown();
      if (whole.is_constant())
        part = Word::number(whole.constant >> (each * static_cast<int>(i)) & low_bits(each));
      part.parts = moved(whole.parts, -each * static_cast<int>(i), each, step.line());
      step.state.write(to.elements[i], part);
    }
    return;
  }
  if (from.kind != OperandKind::list) return step.result(step.word(1));
  const int each = step.width() / std::max(1, static_cast<int>(from.elements.size()));
  Word whole = Word::number(0);
  for (std::size_t i = 0; i < from.elements.size(); ++i) {
    const Word part = step.state.read(from.elements[i]);
    if (part.known == Known::unset) return;
    whole.parts = combine(std::move(whole.parts),
                          moved(part.parts, each * static_cast<int>(i), step.width(), step.line()));
    if (part.is_constant() && whole.is_constant())
      whole.constant |= (part.constant & low_bits(each)) << (each * static_cast<int>(i));
    else
      whole = {Known::varies, 0, std::move(whole.parts)};
  }
  step.result(whole);
}

void choose(Step& step) {
  Word word = either(step);
  const auto plain = [](const Word& each) { return each.is_constant() && each.constant + 1 <= 1; };
  if (step.instruction.opcode == "selp" && plain(step.word(1)) && plain(step.word(2)))
    word = {Known::selector, 0, {}};
  step.result(std::move(word));
}

void select_all(Step& step) { step.result({Known::selector, 0, {}}); }

void forget(Step& step) {
  if (step.count() > 0) step.result(Word::unknown());
}

void combine_bits(Step& step) {
  step.result(
      bitwise(table_of(step), {step.word(1), step.word(2), Word::number(0)}, step.width(), step.line()));
}

void complement(Step& step) {
  step.result(bitwise(0x0F, {step.word(1), Word::number(0), Word::number(0)}, step.width(), step.line()));
}

void any_function(Step& step) {
  const Word table = step.word(4);
  if (!table.is_constant()) return;
  step.result(bitwise(static_cast<std::uint8_t>(table.constant), {step.word(1), step.word(2), step.word(3)},
                      step.width(), step.line()));
}

void disorder(Step& step) { step.result(unclear(step, step.word(1), {Known::launch, 0, {}})); }

void shift_left(Step& step) { step.result(shifted(step, step.word(1), step.word(2), true)); }

void shift_right(Step& step) {
  Word word = shifted(step, step.word(1), step.word(2), false);
  // The sign in all bits.
  if (emulator::is_signed(step.type()) && step.word(2).is_constant() &&
      step.word(2).constant + 1 == static_cast<std::uint64_t>(step.width()))
    word = {Known::selector, 0, {}};
  step.result(word);
}

void shift_window(Step& step) {
  const Word low = step.word(1), high = step.word(2), by = step.word(3);
  if (!by.is_constant()) return step.result(unclear(step, low.parts.empty() ? high : low, by));
  const int bits = static_cast<int>(by.constant & 31u);
  const bool left = step.instruction.has("l");
  Word word = Word::unknown();
  word.parts = combine(moved(low.parts, left ? bits - 32 : -bits, 32, step.line()),
                       moved(high.parts, left ? bits : 32 - bits, 32, step.line()));
  step.result(word);
}

void permute(Step& step) {
  const Word selector = step.word(3);
  if (selector.known == Known::unset) return;
  if (!selector.is_constant()) {
    Word word = Word::unknown();
    word.parts = masked_by_unknown(combine(step.word(1).parts, step.word(2).parts), step.line());
    return step.result(word);
  }
  step.result(
      permuted(step.word(1), step.word(2), static_cast<std::uint32_t>(selector.constant), step.line()));
}

void extract_field(Step& step) {
  const Word from = step.word(1), position = step.word(2), length = step.word(3);
  if (!position.is_constant() || !length.is_constant()) return step.result(unclear(step, from, position));
  const int at = static_cast<int>(position.constant & 0xFFu),
            bits = static_cast<int>(length.constant & 0xFFu);
  Word word = Word::unknown();
  word.parts = masked(moved(from.parts, -at, step.width(), step.line()), low_bits(bits), step.line());
  if (bits == 1 && emulator::is_signed(step.type())) word = {Known::selector, 0, {}};
  step.result(word);
}

void insert_field(Step& step) {
  const Word position = step.word(3), length = step.word(4);
  if (!position.is_constant() || !length.is_constant())
    return step.result(unclear(step, either(step), position));
  const int at = static_cast<int>(position.constant & 0xFFu),
            bits = static_cast<int>(length.constant & 0xFFu);
  const std::uint64_t field = low_bits(bits) << std::min(at, 63);
  Word word = Word::unknown();
  word.parts = combine(masked(moved(step.word(1).parts, at, step.width(), step.line()), field, step.line()),
                       masked(step.word(2).parts, ~field & low_bits(step.width()), step.line()));
  step.result(word);
}

}  // namespace ak::runtime::flow

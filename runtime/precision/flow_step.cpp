// SPDX-License-Identifier: Apache-2.0
#include "runtime/precision/flow_step.h"

#include <algorithm>
#include <bit>

namespace ak::runtime::flow {
namespace {

using emulator::Type;

// The upper word of a float64 starts iterations in division, roots and elementary functions.
constexpr int kUpperWordBits = 20;

bool lost_bits(const FloatPart& part, const DataFormat& format) {
  const int bits = mantissa_bits(part);
  if (part.wide) return bits > 0 && bits < 52 && bits != kUpperWordBits;
  return bits > 0 && bits < std::min(23, format.mantissa_bits);
}

bool is_short_integer(const FloatPart& part) {
  const int bits = std::popcount(part.kept);
  return part.kind == PartKind::integer && bits >= kMinIntegerBits && bits <= kMaxIntegerBits;
}

}  // namespace

Word Step::read(const emulator::Operand& operand) const {
  Word word = state.read(operand);
  if (operand.kind == emulator::OperandKind::integer) word.constant = sign_extended(word.constant, width());
  return word;
}

/// What is made of the launch's numbers alone is one of them.
void Step::result(Word word) {
  if (word.known == Known::varies && word.parts.empty()) {
    bool any = false, chosen = true;
    each_source([&](const Word& each) {
      any = true;
      chosen &= each.known == Known::launch || each.is_constant();
    });
    if (any && chosen) word.known = Known::launch;
  }
  state.write(operand(0), std::move(word));
}

void Step::use(const FloatPart& part) {
  if (found) return;
  found = NarrowedUse{part.line, line(), "", instruction.spelling()};
}

bool is_narrowed_float(const FloatPart& part, const DataFormat& format) {
  if (part.packed) return false;
  if (part.kind == PartKind::rounded) return true;
  if (part.kind == PartKind::opaque) return part.at == 0 && !part.wide;
  if (part.kind == PartKind::integer) return false;
  return part.at == 0 && lost_bits(part, format);
}

bool is_narrowed_integer(const FloatPart& part, const DataFormat& format) {
  return is_short_integer(part) || (part.kind == PartKind::exact && !part.packed && lost_bits(part, format));
}

bool is_shorter(Type type, const DataFormat& format) {
  switch (type) {
    case Type::f64:
      return false;
    case Type::f32:
    case Type::f32x2:
      return format.mantissa_bits > 23;
    case Type::tf32:
      return format.mantissa_bits > 10;
    default:
      return emulator::is_float(type);
  }
}

Word either(const Step& step) {
  Word all;
  step.each_source([&](const Word& word) { join(all, word); });
  return all;
}

bool is_wide(Type type) { return type == Type::f64; }

Word unclear(const Step& step, const Word& from, const Word& by) {
  Word word = Word::unknown();
  if (from.parts.empty() || by.known != Known::launch) return word;
  FloatPart part = from.parts.front();
  part.kind = part.kind == PartKind::integer ? PartKind::integer : PartKind::opaque;
  if (part.line == 0) part.line = step.line();
  word.parts = {part};
  return word;
}

bool floats_only(const Step& step) { return !step.types.empty() && emulator::is_float(step.type()); }

}  // namespace ak::runtime::flow

// SPDX-License-Identifier: Apache-2.0
// cvt: floats of other formats, integers made of floats and the reverse.
#include <algorithm>

#include "runtime/precision/flow_rules.h"

namespace ak::runtime::flow {
namespace {

using emulator::Type;

FloatPart with_kind(const Step& step, PartKind kind, int bits, bool wide, int line) {
  FloatPart part = step.state.fresh(wide);
  part.kind = kind;
  part.kept = low_bits(bits);
  part.line = line;
  return part;
}

/// A float of another format, out of a float that may be narrowed already.
Word converted_float(const Step& step, const Word& from, Type to) {
  const bool wide = is_wide(to);
  for (const FloatPart& part : from.parts) {
    if (part.kind == PartKind::half || is_narrowed_float(part, step.format) || part.kind == PartKind::rounded)
      return Word::of(
          with_kind(step, PartKind::rounded, wide ? 64 : 32, wide, part.line != 0 ? part.line : step.line()));
  }
  if (is_shorter(to, step.format)) {
    const bool pair = emulator::to_string(to).ends_with("x2");
    FloatPart low =
        with_kind(step, PartKind::rounded, emulator::bits(to) / (pair ? 2 : 1), wide, step.line());
    FloatPart high = low;
    high.at = emulator::bits(to) / 2;
    return pair ? Word{Known::varies, 0, {low, high}} : Word::of(low);
  }
  return Word::of(step.state.fresh(wide));
}

Word converted_integer(const Step& step, const Word& from, Type to, Type source) {
  const int bits = std::min(emulator::bits(to), emulator::bits(source));
  Word word = Word::unknown();
  if (from.is_constant())
    word = Word::number(emulator::is_signed(source) ? sign_extended(from.constant, bits)
                                                    : from.constant & low_bits(bits));
  word.parts = masked(from.parts, low_bits(bits), step.line());
  return word;
}

/// A float made of an integer: narrowed where the integer is a short number or part of a mantissa.
Word float_of_integer(const Step& step, const Word& from, Type to, Type source) {
  for (FloatPart part : masked(from.parts, low_bits(emulator::bits(source)), step.line())) {
    if (is_narrowed_integer(part, step.format))
      return Word::of(
          with_kind(step, PartKind::rounded, 64, is_wide(to), part.line != 0 ? part.line : step.line()));
  }
  return Word::of(step.state.fresh(is_wide(to)));
}

}  // namespace

void convert(Step& step) {
  if (step.types.size() < 2) return forget(step);
  const Type to = step.types.front(), source = step.types[1];
  Word from = either(step);
  if (from.known == Known::unset) return;
  if (from.parts.empty())
    return step.result(!emulator::is_float(to) && !emulator::is_float(source)
                           ? converted_integer(step, from, to, source)
                           : Word::unknown());
  if (emulator::is_float(to))
    return step.result(emulator::is_float(source) ? converted_float(step, from, to)
                                                  : float_of_integer(step, from, to, source));
  if (emulator::is_float(source))
    return step.result(Word::of(with_kind(step, PartKind::integer, emulator::bits(to), false, step.line())));
  step.result(converted_integer(step, from, to, source));
}

}  // namespace ak::runtime::flow

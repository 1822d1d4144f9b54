// SPDX-License-Identifier: Apache-2.0
// Sums, products and functions of integers and floats.
#include <algorithm>
#include <bit>
#include <string>

#include "runtime/precision/flow_rules.h"

namespace ak::runtime::flow {
namespace {

using emulator::Operand;
using emulator::OperandKind;
using emulator::Type;

/// Sums of integers keep the bits where they were, but for carries.
void add_integers(Step& step, const Word& a, const Word& b, bool subtract) {
  if (a.known == Known::unset || b.known == Known::unset) return;
  Word word = Word::unknown();
  if (a.is_constant() && b.is_constant()) {
    word =
        Word::number((subtract ? a.constant - b.constant : a.constant + b.constant) & low_bits(step.width()));
  } else if (subtract && a.is_constant() && a.constant == 0) {
    word.known = Known::selector;  // 0 - (0 or 1)
  }
  word.parts = subtract ? reduced(a.parts, b.parts, step.line()) : combine(a.parts, b.parts);
  step.result(word);
}

std::optional<int> power_of_two(const Word& word, int width) {
  const std::uint64_t number = word.constant & low_bits(width);
  if (!word.is_constant() || !std::has_single_bit(number)) return std::nullopt;
  return std::countr_zero(number);
}

/// As it enters a product, which may be wider.
std::uint64_t factor(const Step& step, const Word& word) {
  return emulator::is_signed(step.type()) ? word.constant : word.constant & low_bits(step.width());
}

bool holds_kind(const Word& word, PartKind kind) {
  return std::ranges::any_of(word.parts, [&](const FloatPart& part) { return part.kind == kind; });
}

/// The product of integers; two that floats were rounded to are numbers in a fixed point.
Word product(Step& step, const Word& a, const Word& b) {
  if (a.known == Known::unset || b.known == Known::unset) return {};
  if (holds_kind(a, PartKind::integer) && holds_kind(b, PartKind::integer))
    step.use(*std::ranges::find(a.parts, PartKind::integer, &FloatPart::kind));
  if (a.is_constant() && b.is_constant()) return Word::number(factor(step, a) * factor(step, b));
  const Word& data = a.parts.empty() ? b : a;
  const Word& other = a.parts.empty() ? a : b;
  if (data.parts.empty() || !other.parts.empty()) return Word::unknown();
  const bool high = step.instruction.has("hi");
  if (const auto shift = power_of_two(other, step.width()))
    return {Known::varies, 0,
            moved(data.parts, high ? *shift - step.width() : *shift,
                  step.instruction.has("wide") ? 64 : step.width(), step.line())};
  return unclear(step, data, other);
}

void multiply_integers(Step& step) { step.result(product(step, step.word(1), step.word(2))); }

void multiply_add_integers(Step& step) {
  add_integers(step, product(step, step.word(1), step.word(2)), step.word(3), false);
}

void divide_integers(Step& step) {
  const Word from = step.word(1), by = step.word(2);
  const auto shift = power_of_two(by, step.width());
  if (from.known == Known::unset || by.known == Known::unset) return;
  if (!shift) return step.result(unclear(step, from, by));
  const bool rest = step.instruction.opcode == "rem";
  step.result({Known::varies, 0,
               rest ? masked(from.parts, low_bits(*shift), step.line())
                    : moved(from.parts, -*shift, step.width(), step.line())});
}

}  // namespace

void compute(Step& step) {
  bool data = false;
  step.each_source([&](const Word& word) {
    data |= !word.parts.empty();
    for (const FloatPart& part : word.parts) {
      if (is_narrowed_float(part, step.format)) step.use(part);
    }
  });
  const bool shorter =
      std::ranges::any_of(step.types, [&](Type type) { return is_shorter(type, step.format); });
  if (data && shorter)
    step.found = step.found ? step.found : NarrowedUse{0, step.line(), "", step.instruction.spelling()};
  const Operand& to = step.operand(0);
  const bool wide = is_wide(step.type());
  std::uint32_t element = 0;
  const auto give = [&](const Operand& target) {
    step.state.write(target, data ? Word::of(step.state.fresh(wide, element++)) : Word::unknown());
  };
  if (to.kind != OperandKind::list) return give(to);
  for (const Operand& target : to.elements) give(target);
}

void multiply_matrices(Step& step) {
  const bool floats = std::ranges::any_of(step.types, [](Type type) {
    return emulator::is_float(type) && type != Type::f32 && type != Type::f64;
  });
  const bool doubles = std::ranges::find(step.types, Type::f64) != step.types.end();
  if (floats || doubles) {
    if (floats && step.state.shared_holds_floats() && !step.found &&
        std::ranges::any_of(step.types, [&](Type type) { return is_shorter(type, step.format); }) &&
        !step.instruction.opcode.starts_with("mma") && !step.instruction.opcode.starts_with("wmma"))
      step.found = NarrowedUse{0, step.line(), "", step.instruction.spelling()};
    return compute(step);
  }
  step.each_source([&](const Word& word) {
    for (const FloatPart& part : word.parts) {
      if (is_narrowed_integer(part, step.format) || part.kind == PartKind::integer) step.use(part);
    }
  });
}

void arithmetic(Step& step) {
  const std::string_view opcode = step.instruction.opcode;
  if (floats_only(step)) return compute(step);
  if (opcode == "add" || opcode == "sub" || opcode == "addc" || opcode == "subc")
    return add_integers(step, step.word(1), step.word(2), opcode.starts_with("sub"));
  if (opcode.starts_with("mul")) return multiply_integers(step);
  if (opcode.starts_with("mad")) return multiply_add_integers(step);
  if (opcode == "div" || opcode == "rem") return divide_integers(step);
  if (opcode == "neg") return add_integers(step, Word::number(0), step.word(1), true);
  forget(step);
}

void negate(Step& step) { floats_only(step) ? choose(step) : arithmetic(step); }

}  // namespace ak::runtime::flow

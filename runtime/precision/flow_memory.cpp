// SPDX-License-Identifier: Apache-2.0
// Loads, stores, copies and atomics.
#include <algorithm>
#include <string>

#include "runtime/precision/flow_rules.h"

namespace ak::runtime::flow {
namespace {

using emulator::Instruction;
using emulator::Operand;
using emulator::OperandKind;
using emulator::Space;
using emulator::Type;

/// State space among the modifiers; `none` for generic addresses.
Space space_of(const Instruction& instruction) {
  for (const std::string_view modifier : instruction.modifiers) {
    if (modifier == "global") return Space::global;
    if (modifier.starts_with("shared")) return Space::shared;
    if (modifier == "local") return Space::local;
    if (modifier.starts_with("param")) return Space::param;
    if (modifier == "const") return Space::constant;
  }
  return Space::none;
}

/// What `bits` of a float from memory hold; half a word is the upper one, which has the sign and the exponent.
Word data_word(const Step& step, int bits, std::uint32_t element) {
  if (bits < 16) return Word::unknown();
  if (bits == 16) {
    FloatPart part = step.state.fresh(false, element);
    part.kind = PartKind::half;
    return {Known::varies, 0, moved({part}, -16, 16, step.line())};
  }
  if (bits == 64 && !step.format.wide && step.type() != Type::f64) {
    FloatPart low = step.state.fresh(false, 2 * element), high = step.state.fresh(false, 2 * element + 1);
    high.at = 32;
    return {Known::varies, 0, {low, high}};
  }
  return Word::of(step.state.fresh(bits == 64, element));
}

/// What a load of `bits` finds of what was stored: floats are there where they begin, or as a second one of 64 bits.
/// Others were stored in another size: by other kernels of the module, for other purposes.
std::vector<FloatPart> found_parts(const Word& stored, int bits) {
  std::vector<FloatPart> found;
  for (FloatPart part : stored.parts) {
    if (part.at == 32 && bits == 32) part.at = 0;
    if (bits < 16 && part.kind != PartKind::integer) continue;
    const bool fits = part.at >= 0 ? (part.kept << part.at >> part.at & ~(low_bits(bits) >> part.at)) == 0
                                   : (part.kept >> -part.at & ~low_bits(bits)) == 0;
    if (fits && (part.at >= 0 ? part.at < bits : true)) found.push_back(part);
  }
  return found;
}

}  // namespace

void load(Step& step) {
  const Space space = space_of(step.instruction);
  if (space == Space::constant) return step.result({Known::launch, 0, {}});
  if (step.count() < 2) return;
  const int bits = step.width();
  Word stored = step.state.load(space, step.operand(1));
  const bool holds_floats = !stored.parts.empty();
  stored.parts = found_parts(stored, bits);
  if (!emulator::is_signed(step.type())) stored.constant &= low_bits(bits);
  const bool half_of_one = bits == 16 && holds_floats && stored.parts.empty();
  const bool from_data = space == Space::global || space == Space::none || half_of_one;
  const Operand& to = step.operand(0);
  const std::size_t elements = to.kind == OperandKind::list ? to.elements.size() : 1;
  for (std::uint32_t i = 0; i < elements; ++i) {
    Word word = stored;
    if (from_data && space != Space::param) join(word, data_word(step, bits, i));
    step.state.write(to.kind == OperandKind::list ? to.elements[i] : to, word);
  }
}

void store(Step& step) {
  const Space space = space_of(step.instruction);
  step.each_source([&](Word word) {
    word.parts = masked(std::move(word.parts), low_bits(step.width()), step.line());
    step.state.store(space, step.operand(0), word);
  });
}

void store_matrix(Step& step) {
  step.each_source([&](const Word& word) { step.state.store(Space::shared, step.operand(0), word); });
}

void load_matrix(Step& step) {
  const Word word = step.state.load(Space::shared, step.operand(1));
  const Operand& to = step.operand(0);
  if (to.kind != OperandKind::list) return step.result(word);
  for (const Operand& element : to.elements) step.state.write(element, word);
}

void copy(Step& step) {
  Operand none;
  step.state.store(Space::shared, none, data_word(step, 32, 0));
}

void call(Step& step) { step.state.pass_call(); }

void atomic(Step& step) {
  if (floats_only(step) && step.instruction.has("add")) {
    const auto look = [&](const Word& word) {
      for (const FloatPart& part : word.parts) {
        if (is_narrowed_float(part, step.format)) step.use(part);
      }
    };
    step.each_source(look, step.instruction.opcode == "atom" ? 2 : 1);
  }
  if (step.instruction.opcode == "atom")
    step.result(floats_only(step) ? data_word(step, step.width(), 0) : Word::unknown());
}

}  // namespace ak::runtime::flow

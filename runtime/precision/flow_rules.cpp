// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "runtime/precision/flow_state.h"

namespace ak::runtime {
namespace {

using emulator::Instruction;
using emulator::Operand;
using emulator::OperandKind;
using emulator::Space;
using emulator::Type;

/// One instruction that is being applied.
struct Step {
  FlowState& state;
  const DataFormat& format;
  const Instruction& instruction;
  std::vector<Type> types;  ///< among the modifiers, in their order
  std::optional<NarrowedUse> found = std::nullopt;

  [[nodiscard]] std::size_t count() const { return instruction.operands.size(); }
  [[nodiscard]] const Operand& operand(std::size_t i) const { return instruction.operands[i]; }
  [[nodiscard]] Word word(std::size_t i) const {
    return i < count() ? state.read(operand(i)) : Word::unknown();
  }
  [[nodiscard]] Type type() const { return types.empty() ? Type::b32 : types.back(); }
  [[nodiscard]] int width() const { return emulator::bits(type()); }
  [[nodiscard]] int line() const { return instruction.ptx_line; }
  void result(Word word);
  /// Registers among the operands from `first` on, those of lists one by one.
  [[nodiscard]] std::vector<Word> sources(std::size_t first = 1) const;
  void use(const FloatPart& part);
};

void add_sources(const FlowState& state, const Operand& operand, std::vector<Word>& words) {
  if (operand.kind == OperandKind::list) {
    for (const Operand& element : operand.elements) add_sources(state, element, words);
  } else if (operand.kind != OperandKind::address) {
    words.push_back(state.read(operand));
  }
}

std::vector<Word> Step::sources(std::size_t first) const {
  std::vector<Word> words;
  for (std::size_t i = first; i < count(); ++i) add_sources(state, operand(i), words);
  return words;
}

/// What is made of the launch's numbers alone is one of them.
void Step::result(Word word) {
  const auto chosen = [](const Word& each) { return each.known == Known::launch || each.is_constant(); };
  const auto words = sources();
  if (word.known == Known::varies && word.parts.empty() && !words.empty() &&
      std::ranges::all_of(words, chosen))
    word.known = Known::launch;
  state.write(operand(0), word);
}

void Step::use(const FloatPart& part) {
  if (found) return;
  found = NarrowedUse{part.line, line(), "", instruction.spelling()};
}

// ---- what counts as narrowed

// The upper word of a float64 starts iterations in division, roots and elementary functions.
constexpr int kUpperWordBits = 20;

bool lost_bits(const FloatPart& part, const DataFormat& format) {
  const int bits = mantissa_bits(part);
  if (part.wide) return bits > 0 && bits < 52 && bits != kUpperWordBits;
  return bits > 0 && bits < std::min(23, format.mantissa_bits);
}

bool is_short_integer(const FloatPart& part) {
  const int bits = std::popcount(part.kept);
  return part.kind == PartKind::integer && bits >= kFewestIntegerBits && bits <= kMostIntegerBits;
}

/// As an operand that is a float.
bool is_narrowed_float(const FloatPart& part, const DataFormat& format) {
  if (part.packed) return false;
  if (part.kind == PartKind::rounded) return true;
  if (part.kind == PartKind::opaque) return part.at == 0 && !part.wide;
  if (part.kind == PartKind::integer) return false;
  return part.at == 0 && lost_bits(part, format);
}

/// As an operand that is an integer, wherever its bits are.
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

bool has_data(std::span<const Word> words) {
  return std::ranges::any_of(words, [](const Word& word) { return !word.parts.empty(); });
}

Word either(std::span<const Word> words) {
  Word all;
  for (const Word& word : words) join(all, word);
  return all;
}

bool is_wide(Type type) { return type == Type::f64; }

// ---- memory

/// State space among the modifiers; `none` for generic addresses.
Space space_of(const Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
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

void load(Step& step) {
  const Space space = space_of(step.instruction);
  if (space == Space::constant) return step.result({Known::launch, 0, {}});
  if (step.count() < 2) return;
  const int bits = step.width();
  Word stored = step.state.load(space, step.operand(1));
  const bool holds_floats = !stored.parts.empty();
  stored.parts = found_parts(stored, bits);
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
  for (Word& word : step.sources()) {
    word.parts = masked(std::move(word.parts), low_bits(step.width()), step.line());
    step.state.store(space, step.operand(0), word);
  }
}

void store_matrix(Step& step) {
  for (const Word& word : step.sources()) step.state.store(Space::shared, step.operand(0), word);
}

void load_matrix(Step& step) {
  const Word word = step.state.load(Space::shared, step.operand(1));
  const Operand& to = step.operand(0);
  if (to.kind != OperandKind::list) return step.result(word);
  for (const Operand& element : to.elements) step.state.write(element, word);
}

/// Copies between memories: whatever they bring is data of the problem.
void copy(Step& step) {
  Operand none;
  step.state.store(Space::shared, none, data_word(step, 32, 0));
}

void call(Step& step) { step.state.pass_call(); }

// ---- moves

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

/// One of its sources, unchanged: selections, exchanges between lanes, the larger of two.
void choose(Step& step) {
  const auto sources = step.sources();
  Word word = either(sources);
  const auto plain = [](const Word& each) { return each.is_constant() && each.constant + 1 <= 1; };
  if (step.instruction.opcode == "selp" && plain(sources[0]) && plain(sources[1]))
    word = {Known::selector, 0, {}};
  step.result(word);
}

void select_all(Step& step) { step.result({Known::selector, 0, {}}); }
void forget(Step& step) {
  if (step.count() > 0) step.result(Word::unknown());
}

// ---- bits

std::uint8_t table_of(const Step& step) {
  if (step.instruction.opcode == "and") return 0xF0 & 0xCC;
  if (step.instruction.opcode == "or") return 0xF0 | 0xCC;
  return 0xF0 ^ 0xCC;
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

/// Bits changed by a number that the launch gives; functions of the device's library shift by exponents.
Word unclear(Step& step, const Word& from, const Word& by) {
  Word word = Word::unknown();
  if (from.parts.empty() || by.known != Known::launch) return word;
  FloatPart part = from.parts.front();
  part.kind = part.kind == PartKind::integer ? PartKind::integer : PartKind::opaque;
  if (part.line == 0) part.line = step.line();
  word.parts = {part};
  return word;
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

/// Bits in an order that is not followed.
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

/// shf: a window of 32 bits out of two words.
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
    return step.result(unclear(step, either(step.sources()), position));
  const int at = static_cast<int>(position.constant & 0xFFu),
            bits = static_cast<int>(length.constant & 0xFFu);
  const std::uint64_t field = low_bits(bits) << std::min(at, 63);
  Word word = Word::unknown();
  word.parts = combine(masked(moved(step.word(1).parts, at, step.width(), step.line()), field, step.line()),
                       masked(step.word(2).parts, ~field & low_bits(step.width()), step.line()));
  step.result(word);
}

// ---- arithmetic

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

std::optional<int> power_of_two(const Word& word) {
  if (!word.is_constant() || !std::has_single_bit(word.constant)) return std::nullopt;
  return std::countr_zero(word.constant);
}

bool holds_kind(const Word& word, PartKind kind) {
  return std::ranges::any_of(word.parts, [&](const FloatPart& part) { return part.kind == kind; });
}

/// The product of integers; two that floats were rounded to are numbers in a fixed point.
Word product(Step& step, const Word& a, const Word& b) {
  if (a.known == Known::unset || b.known == Known::unset) return {};
  if (holds_kind(a, PartKind::integer) && holds_kind(b, PartKind::integer))
    step.use(*std::ranges::find(a.parts, PartKind::integer, &FloatPart::kind));
  if (a.is_constant() && b.is_constant()) return Word::number(a.constant * b.constant);
  const Word& data = a.parts.empty() ? b : a;
  const Word& other = a.parts.empty() ? a : b;
  if (data.parts.empty() || !other.parts.empty()) return Word::unknown();
  const bool high = step.instruction.has("hi");
  if (const auto shift = power_of_two(other))
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
  const auto shift = power_of_two(by);
  if (from.known == Known::unset || by.known == Known::unset) return;
  if (!shift) return step.result(unclear(step, from, by));
  const bool rest = step.instruction.opcode == "rem";
  step.result({Known::varies, 0,
               rest ? masked(from.parts, low_bits(*shift), step.line())
                    : moved(from.parts, -*shift, step.width(), step.line())});
}

/// Arithmetic of floats: every operand has to be whole.
void compute(Step& step) {
  const auto sources = step.sources();
  const bool data = has_data(sources);
  for (const Word& word : sources) {
    for (const FloatPart& part : word.parts) {
      if (is_narrowed_float(part, step.format)) step.use(part);
    }
  }
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

/// Products of vectors and matrices. Their operands lie in registers, or in shared memory behind a descriptor.
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
  for (const Word& word : step.sources()) {
    for (const FloatPart& part : word.parts) {
      if (is_narrowed_integer(part, step.format) || part.kind == PartKind::integer) step.use(part);
    }
  }
}

bool floats_only(const Step& step) { return !step.types.empty() && emulator::is_float(step.type()); }

void arithmetic(Step& step) {
  const std::string& opcode = step.instruction.opcode;
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

/// An atomic: adds floats to memory, or exchanges integers.
void atomic(Step& step) {
  if (floats_only(step) && step.instruction.has("add")) {
    for (const Word& word : step.sources(step.instruction.opcode == "atom" ? 2 : 1)) {
      for (const FloatPart& part : word.parts) {
        if (is_narrowed_float(part, step.format)) step.use(part);
      }
    }
  }
  if (step.instruction.opcode == "atom")
    step.result(floats_only(step) ? data_word(step, step.width(), 0) : Word::unknown());
}

// ---- conversions

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
  Word word = from.is_constant() ? Word::number(from.constant & low_bits(bits)) : Word::unknown();
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

void convert(Step& step) {
  if (step.types.size() < 2) return forget(step);
  const Type to = step.types.front(), source = step.types[1];
  Word from = either(step.sources());
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

// ---- which instruction does what

struct Rule {
  std::string_view opcode;
  void (*apply)(Step&);
};
// clang-format off
constexpr std::array kRules{
    Rule{"ld", load}, Rule{"ldu", load}, Rule{"st", store}, Rule{"ldmatrix", load_matrix},
    Rule{"stmatrix", store_matrix}, Rule{"cp", copy}, Rule{"call", call}, Rule{"atom", atomic}, Rule{"red", atomic},
    Rule{"mov", move}, Rule{"cvta", forget}, Rule{"selp", choose}, Rule{"slct", choose}, Rule{"shfl", choose},
    Rule{"movmatrix", choose}, Rule{"min", choose}, Rule{"max", choose}, Rule{"abs", choose},
    Rule{"copysign", choose}, Rule{"neg", negate}, Rule{"set", select_all},
    Rule{"and", combine_bits}, Rule{"or", combine_bits}, Rule{"xor", combine_bits}, Rule{"not", complement},
    Rule{"lop3", any_function}, Rule{"shl", shift_left}, Rule{"shr", shift_right}, Rule{"shf", shift_window},
    Rule{"prmt", permute}, Rule{"brev", disorder}, Rule{"szext", disorder}, Rule{"bfe", extract_field}, Rule{"bfi", insert_field}, Rule{"cvt", convert},
    Rule{"add", arithmetic}, Rule{"sub", arithmetic}, Rule{"mul", arithmetic}, Rule{"mad", arithmetic},
    Rule{"addc", arithmetic}, Rule{"subc", arithmetic}, Rule{"madc", arithmetic}, Rule{"mul24", arithmetic},
    Rule{"mad24", arithmetic}, Rule{"div", arithmetic}, Rule{"rem", arithmetic}, Rule{"fma", compute},
    Rule{"rcp", compute}, Rule{"sqrt", compute}, Rule{"rsqrt", compute}, Rule{"sin", compute}, Rule{"cos", compute},
    Rule{"lg2", compute}, Rule{"ex2", compute}, Rule{"tanh", compute}, Rule{"dp4a", multiply_matrices},
    Rule{"dp2a", multiply_matrices}, Rule{"mma", multiply_matrices}, Rule{"wgmma", multiply_matrices},
    Rule{"tcgen05", multiply_matrices},
};
// clang-format on

/// wmma: loads and stores of fragments, and their product.
void (*rule_of(const Instruction& instruction))(Step&) {
  if (instruction.opcode == "wmma")
    return instruction.has("load")    ? load_matrix
           : instruction.has("store") ? store_matrix
                                      : multiply_matrices;
  const auto found = std::ranges::find(kRules, instruction.opcode, &Rule::opcode);
  return found != kRules.end() ? found->apply : nullptr;
}

}  // namespace

std::optional<NarrowedUse> apply_instruction(FlowState& state, const DataFormat& format) {
  Step step{.state = state, .format = format, .instruction = state.instruction(), .types = {}};
  void (*const rule)(Step&) = rule_of(step.instruction);
  for (const std::string& modifier : step.instruction.modifiers) {
    if (const auto type = emulator::parse_type(modifier)) step.types.push_back(*type);
  }
  if (rule == nullptr || step.count() == 0) {
    if (rule == nullptr && step.count() > 0) forget(step);
    return std::nullopt;
  }
  rule(step);
  return step.found;
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
// Video instructions (PTX ISA 9.0, 9.7.19): arithmetic on bytes, halves and words of 32-bit registers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>

#include "emulator/numbers/element_operations.h"
#include "emulator/ops/integer_types.h"

namespace ak::emulator {
namespace {

/// Parts of a register, of which element i of an instruction takes one.
struct Parts {
  std::uint8_t bits = 32;               ///< of a part
  bool is_signed = false;               ///< the parts are sign-extended
  std::array<std::uint8_t, 4> index{};  ///< by element, from the low end
  [[nodiscard]] std::int64_t of(std::uint64_t word, int element) const {
    const std::uint64_t part = word >> (bits * index[static_cast<std::size_t>(element)]);
    const int unused = 64 - bits;
    return is_signed ? static_cast<std::int64_t>(part << unused) >> unused
                     : static_cast<std::int64_t>(part << unused >> unused);
  }
};

enum class Second : std::uint8_t { none, merge, add, min, max };

/// What an instruction does around its operation; in Program::slots behind Op::more.
struct Form {
  Parts a, b;
  std::uint8_t elements = 1;
  bool joint = false;      ///< both select from the eight bytes of b and a together
  std::uint8_t bits = 32;  ///< of an element of the result
  bool is_signed = false;  ///< the result is
  bool saturate = false;
  Second second = Second::none;
  std::uint8_t first = 0;  ///< part of the result that element 0 goes to
  std::uint8_t mask = 1;   ///< elements that reach the result
};
constexpr std::size_t kFormWords = (sizeof(Form) + sizeof(Slot) - 1) / sizeof(Slot);

std::int64_t saturated(const Form& form, std::int64_t value) {
  const std::int64_t span = std::int64_t{1} << form.bits;
  return form.is_signed ? std::clamp(value, -span / 2, span / 2 - 1)
                        : std::clamp<std::int64_t>(value, 0, span - 1);
}

std::uint32_t merged(const Form& form, std::int64_t value, int element, std::uint32_t into) {
  const int shift = form.bits * (form.first + element);
  const std::uint64_t part = ((std::uint64_t{1} << form.bits) - 1) << shift;
  return static_cast<std::uint32_t>((into & ~part) | (static_cast<std::uint64_t>(value) << shift & part));
}

template <class F>
std::uint32_t apply(const Form& form, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  const std::int64_t third = form.is_signed ? std::int64_t{static_cast<std::int32_t>(c)} : std::int64_t{c};
  std::uint32_t result = form.second == Second::add || form.second == Second::merge ? c : 0;
  for (int i = 0; i < form.elements; ++i) {
    std::int64_t value = F{}(form.a.of(form.joint ? both : a, i), form.b.of(form.joint ? both : b, i));
    if (form.saturate) value = saturated(form, value);
    if ((form.mask >> i & 1u) == 0) continue;
    if (form.second == Second::merge)
      result = merged(form, value, i, result);
    else if (form.second == Second::add)
      result += static_cast<std::uint32_t>(value);
    else if (form.second == Second::min)
      result = static_cast<std::uint32_t>(std::min(value, third));
    else if (form.second == Second::max)
      result = static_cast<std::uint32_t>(std::max(value, third));
    else
      result = static_cast<std::uint32_t>(value);
  }
  return result;
}

Form form_of(const Warp& warp, const Op& op) {
  Form form;
  std::memcpy(static_cast<void*>(&form), warp.launch->program.slots.data() + op.more, sizeof form);
  return form;
}

template <class F>
void video(Warp& warp, const Op& op) {
  const Form form = form_of(warp, op);
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [&form](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return apply<F>(form, a, b, c); }, op.a,
      op.b, op.c);
}

// ---- operations on two elements, which have at most 33 bits

struct Plus {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};
struct Minus {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a - b; }
};
struct Distance {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a < b ? b - a : a - b; }
};
/// Halves round away from zero.
struct Average {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    const std::int64_t sum = a + b;
    return sum >= 0 ? (sum + 1) >> 1 : sum >> 1;
  }
};
struct ShiftLeft {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
  }
};
struct ShiftRight {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a >> b; }
};
template <class Shift>
struct Clamped {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return Shift{}(a, std::min<std::int64_t>(b, 32));
  }
};
template <class Shift>
struct Wrapped {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return Shift{}(a, b & 31); }
};

struct NamedHandler {
  std::string_view name;
  Handler run;
};
constexpr NamedHandler kOperations[] = {
    {"vadd", video<Plus>},  {"vsub", video<Minus>},    {"vabsdiff", video<Distance>},
    {"vmin", video<Least>}, {"vmax", video<Greatest>}, {"vavrg", video<Average>},
};
constexpr NamedHandler kShifts[] = {
    {"vshl.clamp", video<Clamped<ShiftLeft>>},
    {"vshl.wrap", video<Wrapped<ShiftLeft>>},
    {"vshr.clamp", video<Clamped<ShiftRight>>},
    {"vshr.wrap", video<Wrapped<ShiftRight>>},
};
constexpr NamedHandler kComparisons[] = {
    {"eq", video<std::equal_to<>>},   {"ne", video<std::not_equal_to<>>}, {"lt", video<std::less<>>},
    {"le", video<std::less_equal<>>}, {"gt", video<std::greater<>>},      {"ge", video<std::greater_equal<>>},
};

Handler named(std::span<const NamedHandler> handlers, std::string_view name) {
  for (const auto& [known, run] : handlers) {
    if (known == name) return run;
  }
  Lowering::unsupported("this operation");
}

// ---- lowering

/// The digits of "b3210", last one first: parts by element. UnsupportedInstruction when there are not as
/// many as elements, or one is not below `count`.
std::array<std::uint8_t, 4> digits_of(std::string_view parts, int elements, int count) {
  std::array<std::uint8_t, 4> index{};
  if (static_cast<int>(parts.size()) != elements + 1)
    Lowering::unsupported(fmt::format("the selection .{}", parts));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const int part = parts[parts.size() - 1 - i] - '0';
    if (part >= count) Lowering::unsupported(fmt::format("the selection .{}", parts));
    index[i] = static_cast<std::uint8_t>(part);
  }
  return index;
}

/// The register of an operand without its selection of parts.
Slot whole_register(Lowering& lowering, Operand operand) {
  operand.name.clear();
  operand.negated = false;
  return lowering.source(operand, Type::b32);
}

/// "" for what is not a register with parts.
std::string_view parts_of(const Operand& operand) {
  return operand.kind == OperandKind::reg ? std::string_view(operand.name) : std::string_view();
}

Parts scalar_parts(const Operand& operand, Type type) {
  Parts parts{.bits = 32, .is_signed = is_signed(type), .index = {}};
  const std::string_view selection = parts_of(operand);
  if (selection.empty()) return parts;
  parts.bits = selection[0] == 'b' ? 8 : 16;
  parts.index = digits_of(selection, 1, 32 / parts.bits);
  return parts;
}

Parts vector_parts(const Operand& operand, Type type, int elements, std::string_view by_default) {
  const std::string_view selection = parts_of(operand);
  Parts parts{.bits = static_cast<std::uint8_t>(32 / elements), .is_signed = is_signed(type), .index = {}};
  if (!selection.empty() && selection[0] != by_default[0])
    Lowering::unsupported(fmt::format("the selection .{}", selection));
  parts.index = digits_of(selection.empty() ? by_default : selection, elements, 2 * elements);
  return parts;
}

Second second_of(const Lowering& lowering) {
  return lowering.has("add")   ? Second::add
         : lowering.has("min") ? Second::min
         : lowering.has("max") ? Second::max
                               : Second::none;
}

/// Where a result goes that is a part of a register, or some of its parts.
void select_result(Form& form, const Operand& d) {
  const std::string_view selection = parts_of(d);
  if (form.elements == 1) {
    if (selection.empty()) return;
    if (form.second != Second::none) Lowering::unsupported("a second operation with a part of the result");
    form.second = Second::merge;
    form.bits = selection[0] == 'b' ? 8 : 16;
    form.first = digits_of(selection, 1, 32 / form.bits)[0];
    return;
  }
  if (form.second == Second::none) form.second = Second::merge;
  form.bits = static_cast<std::uint8_t>(32 / form.elements);
  form.mask = static_cast<std::uint8_t>((1 << form.elements) - 1);
  if (selection.empty()) return;
  if ((selection[0] == 'b') != (form.elements == 4))
    Lowering::unsupported(fmt::format("the selection .{}", selection));
  form.mask = 0;
  for (const char digit : selection.substr(1)) {
    if (digit - '0' >= form.elements) Lowering::unsupported(fmt::format("the selection .{}", selection));
    form.mask = static_cast<std::uint8_t>(form.mask | 1u << (digit - '0'));
  }
}

void expect_word_types(const Lowering& lowering, int count) {
  for (int i = 0; i < count; ++i) {
    if (lowering.type(i) != Type::u32 && lowering.type(i) != Type::s32)
      Lowering::unsupported("types other than .u32 and .s32");
  }
}

/// 2 and 4 for the vectors "vadd2" and "vset4", which name their elements last.
int elements_of(std::string_view opcode) { return opcode.back() == '2' ? 2 : opcode.back() == '4' ? 4 : 1; }

/// @param named_result whether the type of the result is among the three types, else it is .u32.
Op lower_form(Lowering& lowering, Handler run, bool named_result, Second second) {
  Form form;
  form.elements = static_cast<std::uint8_t>(elements_of(lowering.instruction().opcode));
  form.joint = form.elements > 1;
  form.is_signed = named_result && is_signed(lowering.type(2));
  form.saturate = lowering.has("sat");
  form.second = second;
  const Operand &a = lowering.operand(1), &b = lowering.operand(2);
  if (form.joint) {
    form.a = vector_parts(a, lowering.type(1), form.elements, form.elements == 2 ? "h10" : "b3210");
    form.b = vector_parts(b, lowering.type(0), form.elements, form.elements == 2 ? "h32" : "b7654");
  } else {
    form.a = scalar_parts(a, lowering.type(1));
    form.b = scalar_parts(b, lowering.type(0));
  }
  Operand d = lowering.operand(0);
  select_result(form, d);
  d.name.clear();
  Op op{.run = run,
        .d = lowering.destination(d, Type::b32),
        .a = whole_register(lowering, a),
        .b = whole_register(lowering, b)};
  const bool has_third = form.second != Second::none;
  if (lowering.operand_count() != (has_third ? 4u : 3u)) Lowering::unsupported("this number of operands");
  op.c = has_third ? lowering.source(lowering.operand(3), Type::b32) : op.a;
  std::array<Slot, kFormWords> words{};
  std::memcpy(words.data(), &form, sizeof form);
  lowering.more(op, words);
  lowering.classify(InstructionClass::integer);
  return op;
}

std::optional<Op> lower_video(Lowering& lowering) {
  lowering.accept_modifiers({"sat", "add", "min", "max"});
  expect_word_types(lowering, 3);
  const std::string_view opcode = lowering.instruction().opcode;
  const bool vector = elements_of(opcode) > 1;
  const Second second = second_of(lowering);
  if (vector &&
      (second == Second::min || second == Second::max || (second == Second::add && lowering.has("sat"))))
    Lowering::unsupported("this second operation");
  const std::string_view name(opcode.data(), opcode.size() - (vector ? 1 : 0));
  return lower_form(lowering, named(kOperations, name), true, second);
}

std::optional<Op> lower_shift(Lowering& lowering) {
  lowering.accept_modifiers({"sat", "add", "min", "max", "clamp", "wrap"});
  expect_word_types(lowering, 3);
  if (is_signed(lowering.type(0))) Lowering::unsupported("a signed shift count");
  const std::string mode = lowering.has("wrap") ? ".wrap" : lowering.has("clamp") ? ".clamp" : "";
  return lower_form(lowering, named(kShifts, std::string(lowering.instruction().opcode) + mode), true,
                    second_of(lowering));
}

std::optional<Op> lower_comparison(Lowering& lowering) {
  lowering.accept_modifiers({"eq", "ne", "lt", "le", "gt", "ge", "add", "min", "max"});
  expect_word_types(lowering, 2);
  const Second second = second_of(lowering);
  if (elements_of(lowering.instruction().opcode) > 1 && (second == Second::min || second == Second::max))
    Lowering::unsupported("this second operation");
  for (const auto& [name, run] : kComparisons) {
    if (lowering.has(name)) return lower_form(lowering, run, false, second);
  }
  Lowering::unsupported("this comparison");
}

// ---- vmad

/// Op::aux of vmad: how its operands are read and what is done to the sum.
enum : std::uint32_t {
  kNegatedProduct = 1,
  kNegatedSum = 2,
  kPlusOne = 4,
  kSignedSum = 8,
  kSaturated = 16,
  kShift = 32,  ///< times the bits the sum is shifted by
};

std::uint32_t multiply_add(const Form& form, std::uint32_t flags, std::uint32_t a, std::uint32_t b,
                           std::uint32_t c) {
  __extension__ using Wide = __int128;  // a sum of a product of 33 bits each and 32 bits
  Wide sum = Wide{form.a.of(a, 0)} * form.b.of(b, 0);
  Wide addend = (flags & kSignedSum) != 0 ? Wide{static_cast<std::int32_t>(c)} : Wide{c};
  if ((flags & kNegatedProduct) != 0) sum = -sum;
  if ((flags & kNegatedSum) != 0) addend = Wide{static_cast<std::int32_t>(~c)} + 1;
  sum = (sum + addend + ((flags & kPlusOne) != 0 ? 1 : 0)) >> (flags / kShift);
  if ((flags & kSaturated) != 0) {
    const bool is_signed = (flags & kSignedSum) != 0;
    const Wide least = is_signed ? std::numeric_limits<std::int32_t>::min() : 0;
    const Wide most = is_signed ? Wide{std::numeric_limits<std::int32_t>::max()}
                                : Wide{std::numeric_limits<std::uint32_t>::max()};
    sum = std::clamp(sum, least, most);
  }
  return static_cast<std::uint32_t>(sum);
}

void vmad(Warp& warp, const Op& op) {
  const Form form = form_of(warp, op);
  const std::uint32_t flags = op.aux;
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [&form, flags](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return multiply_add(form, flags, a, b, c);
      },
      op.a, op.b, op.c);
}

std::optional<Op> lower_vmad(Lowering& lowering) {
  lowering.accept_modifiers({"sat", "po", "shr7", "shr15"});
  expect_word_types(lowering, 3);
  if (lowering.operand_count() != 4) Lowering::unsupported("this number of operands");
  const Operand &a = lowering.operand(1), &b = lowering.operand(2), &c = lowering.operand(3);
  const bool product = a.negated != b.negated, po = lowering.has("po");
  if ((product && c.negated) || (po && (a.negated || b.negated || c.negated)))
    Lowering::unsupported("these negated operands");
  const bool is_signed_sum =
      is_signed(lowering.type(1)) || is_signed(lowering.type(0)) || product || c.negated;
  Form form;
  form.a = scalar_parts(a, lowering.type(1));
  form.b = scalar_parts(b, lowering.type(0));
  Op op{.run = vmad,
        .d = lowering.destination(lowering.operand(0), Type::b32),
        .a = whole_register(lowering, a),
        .b = whole_register(lowering, b),
        .c = whole_register(lowering, c),
        .aux = (product ? kNegatedProduct : 0u) | (c.negated ? kNegatedSum : 0u) | (po ? kPlusOne : 0u) |
               (is_signed_sum ? kSignedSum : 0u) | (lowering.has("sat") ? kSaturated : 0u) |
               kShift * (lowering.has("shr7")    ? 7u
                         : lowering.has("shr15") ? 15u
                                                 : 0u)};
  std::array<Slot, kFormWords> words{};
  std::memcpy(words.data(), &form, sizeof form);
  lowering.more(op, words);
  lowering.classify(InstructionClass::integer);
  return op;
}

}  // namespace

std::span<const Mnemonic> video_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"vadd", lower_video},       {"vsub", lower_video},      {"vabsdiff", lower_video},
      {"vmin", lower_video},       {"vmax", lower_video},      {"vadd2", lower_video},
      {"vsub2", lower_video},      {"vavrg2", lower_video},    {"vabsdiff2", lower_video},
      {"vmin2", lower_video},      {"vmax2", lower_video},     {"vadd4", lower_video},
      {"vsub4", lower_video},      {"vavrg4", lower_video},    {"vabsdiff4", lower_video},
      {"vmin4", lower_video},      {"vmax4", lower_video},     {"vshl", lower_shift},
      {"vshr", lower_shift},       {"vset", lower_comparison}, {"vset2", lower_comparison},
      {"vset4", lower_comparison}, {"vmad", lower_vmad},
  };
  return kMnemonics;
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
// setp and set: comparisons of integers and floats, combined with a predicate.
#include <cmath>

#include "emulator/numbers/rounding.h"
#include "emulator/numbers/small_floats.h"
#include "emulator/ops/integer_types.h"

namespace ak::emulator {
namespace {

enum class Relation : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

struct RelationName {
  std::string_view name;
  Relation relation;
};
constexpr RelationName kRelations[] = {
    {"eq", Relation::eq},   {"ne", Relation::ne},   {"lt", Relation::lt},   {"le", Relation::le},
    {"gt", Relation::gt},   {"ge", Relation::ge},   {"lo", Relation::lt},   {"ls", Relation::le},
    {"hi", Relation::gt},   {"hs", Relation::ge},   {"equ", Relation::equ}, {"neu", Relation::neu},
    {"ltu", Relation::ltu}, {"leu", Relation::leu}, {"gtu", Relation::gtu}, {"geu", Relation::geu},
    {"num", Relation::num}, {"nan", Relation::nan},
};

/// Unordered forms (...u) hold when either is a NaN, the others do not (ne: as `!=` but false for NaN).
template <Relation R, class T>
bool holds(T a, T b) {
  const bool unordered = a != a || b != b;
  switch (R) {
    case Relation::eq:
      return a == b;
    case Relation::ne:
      return a != b && !unordered;
    case Relation::lt:
      return a < b;
    case Relation::le:
      return a <= b;
    case Relation::gt:
      return a > b;
    case Relation::ge:
      return a >= b;
    case Relation::equ:
      return a == b || unordered;
    case Relation::neu:
      return a != b;
    case Relation::ltu:
      return !(a >= b);
    case Relation::leu:
      return !(a > b);
    case Relation::gtu:
      return !(a <= b);
    case Relation::geu:
      return !(a < b);
    case Relation::num:
      return !unordered;
    case Relation::nan:
      return unordered;
  }
  return false;
}

// How the value of a register is read.
template <class T>
struct Plain {
  using Stored = T;
  static T value(T stored) { return stored; }
};
struct FlushedFloat {
  using Stored = float;
  static float value(float stored) { return flush(stored); }
};
struct HalfValue {
  using Stored = std::uint16_t;
  static float value(std::uint16_t stored) { return f16_to_float(stored); }
};
struct FlushedHalf {
  using Stored = std::uint16_t;
  static float value(std::uint16_t stored) {
    return f16_to_float((stored & 0x7C00u) == 0 ? static_cast<std::uint16_t>(stored & 0x8000u) : stored);
  }
};
struct Bfloat16Value {
  using Stored = std::uint16_t;
  static float value(std::uint16_t stored) { return bf16_to_float(stored); }
};

/// One bit per lane from two rows of 32 lanes.
using Compare = std::uint32_t (*)(const void*, const void*);

template <class Reader, Relation R>
std::uint32_t compare(const void* first, const void* second) {
  using T = typename Reader::Stored;
  const auto* a = static_cast<const Lane<T>*>(first);
  const auto* b = static_cast<const Lane<T>*>(second);
  alignas(64) std::int32_t truth[kLanes];
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i)
    truth[i] = holds<R>(Reader::value(value_of<T>(a[i])), Reader::value(value_of<T>(b[i]))) ? -1 : 0;
  return to_mask(truth);
}

template <class Reader>
Compare comparison(Relation relation) {
  static constexpr Compare kTable[] = {
      compare<Reader, Relation::eq>,  compare<Reader, Relation::ne>,  compare<Reader, Relation::lt>,
      compare<Reader, Relation::le>,  compare<Reader, Relation::gt>,  compare<Reader, Relation::ge>,
      compare<Reader, Relation::equ>, compare<Reader, Relation::neu>, compare<Reader, Relation::ltu>,
      compare<Reader, Relation::leu>, compare<Reader, Relation::gtu>, compare<Reader, Relation::geu>,
      compare<Reader, Relation::num>, compare<Reader, Relation::nan>};
  return kTable[static_cast<std::size_t>(relation)];
}

Compare comparison(Type type, Relation relation, bool ftz) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return comparison<Plain<std::uint16_t>>(relation);
    case Type::s16:
      return comparison<Plain<std::int16_t>>(relation);
    case Type::b32:
    case Type::u32:
      return comparison<Plain<std::uint32_t>>(relation);
    case Type::s32:
      return comparison<Plain<std::int32_t>>(relation);
    case Type::b64:
    case Type::u64:
      return comparison<Plain<std::uint64_t>>(relation);
    case Type::s64:
      return comparison<Plain<std::int64_t>>(relation);
    case Type::f32:
      return ftz ? comparison<FlushedFloat>(relation) : comparison<Plain<float>>(relation);
    case Type::f64:
      return comparison<Plain<double>>(relation);
    case Type::f16:
      return ftz ? comparison<FlushedHalf>(relation) : comparison<HalfValue>(relation);
    case Type::bf16:
      return comparison<Bfloat16Value>(relation);
    default:
      return nullptr;
  }
}

Relation relation_of(const Lowering& lowering) {
  for (const auto& [name, relation] : kRelations) {
    if (!lowering.modifiers().empty() && lowering.modifiers().front() == name) return relation;
  }
  Lowering::unsupported("this comparison");
}

enum : std::uint32_t { kPlain = 0, kAnd = 1, kOr = 2, kXor = 3 };

std::uint32_t combination(const Lowering& lowering) {
  return lowering.has("and") ? kAnd : lowering.has("or") ? kOr : lowering.has("xor") ? kXor : kPlain;
}
std::uint32_t combined(std::uint32_t how, std::uint32_t truth, std::uint32_t other) {
  return how == kAnd ? truth & other : how == kOr ? truth | other : how == kXor ? truth ^ other : truth;
}

// The comparison is picked once, when the program is lowered, and reached through Op::immediate.
const std::byte* row(const Warp& warp, Slot slot) {
  return reinterpret_cast<const std::byte*>(source<std::uint32_t>(warp, slot));
}
Compare compare_of(const Op& op) { return reinterpret_cast<Compare>(op.immediate); }

// op.d and op.more: predicates p and q; op.c: the predicate to combine with.
void setp(Warp& warp, const Op& op) {
  const std::uint32_t truth = compare_of(op)(row(warp, op.a), row(warp, op.b));
  if (op.aux == kPlain) {
    set_predicate(warp, op.d, truth);
    if (op.more != kPredicateSink) set_predicate(warp, op.more, ~truth);
    return;
  }
  const std::uint32_t other = predicate(warp, op.c);
  set_predicate(warp, op.d, combined(op.aux, truth, other));
  set_predicate(warp, op.more, combined(op.aux, ~truth, other));
}

bool is_pair(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }
Type element_of(Type type) {
  return type == Type::f16x2 ? Type::f16 : type == Type::bf16x2 ? Type::bf16 : type;
}

/// Compares the lower or the upper halves of two packed pairs; `first` and `second` are room for them.
std::uint32_t compare_half(const Warp& warp, const Op& op, int half, std::uint32_t* first,
                           std::uint32_t* second) {
  const std::uint32_t* a = source<std::uint32_t>(warp, op.a);
  const std::uint32_t* b = source<std::uint32_t>(warp, op.b);
  for (int i = 0; i < kLanes; ++i) {
    first[i] = a[i] >> 16 * half & 0xFFFF;
    second[i] = b[i] >> 16 * half & 0xFFFF;
  }
  return compare_of(op)(first, second);
}

// Halves of a packed pair: p for the lower, q for the upper.
void setp_pair(Warp& warp, const Op& op) {
  alignas(64) std::uint32_t first[kLanes], second[kLanes];
  const std::uint32_t other = op.aux == kPlain ? 0 : predicate(warp, op.c);
  const PredicateSlot places[] = {op.d, op.more};
  for (int half = 0; half < 2; ++half)
    set_predicate(warp, places[half], combined(op.aux, compare_half(warp, op, half, first, second), other));
}

void accept(const Lowering& lowering) {
  lowering.accept_modifiers({"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi", "hs",  "equ",
                             "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "and", "or", "xor", "ftz"});
}

std::optional<Op> lower_setp(Lowering& lowering) {
  accept(lowering);
  const Type type = lowering.type();
  const Compare run = comparison(element_of(type), relation_of(lowering), lowering.has("ftz"));
  if (run == nullptr) Lowering::unsupported("a comparison of this type");
  const Operand& target = lowering.operand(0);
  const bool two = target.kind == OperandKind::pair;
  Op op{.run = is_pair(type) ? setp_pair : setp,
        .d = lowering.predicate_destination(two ? target.elements[0] : target),
        .a = lowering.source(lowering.operand(1), type),
        .b = lowering.source(lowering.operand(2), type),
        .more = two ? lowering.predicate_destination(target.elements[1]) : kPredicateSink,
        .immediate = reinterpret_cast<std::int64_t>(run),
        .aux = combination(lowering)};
  if (op.aux != kPlain) op.c = lowering.predicate(lowering.operand(3));
  lowering.classify(InstructionClass::predicate);
  return op;
}

// set: all ones or 1.0 where it holds, else zero.
void set(Warp& warp, const Op& op) {
  std::uint32_t truth = compare_of(op)(row(warp, op.a), row(warp, op.b));
  if ((op.aux & 3u) != kPlain) truth = combined(op.aux & 3u, truth, predicate(warp, op.c));
  const std::uint32_t yes = op.more;
  alignas(64) std::uint32_t values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = (truth >> i & 1u) != 0 ? yes : 0;
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), values);
}

// The same for each half of a packed pair.
void set_pair(Warp& warp, const Op& op) {
  alignas(64) std::uint32_t first[kLanes], second[kLanes], values[kLanes] = {};
  for (int half = 0; half < 2; ++half) {
    std::uint32_t truth = compare_half(warp, op, half, first, second);
    if (op.aux != kPlain) truth = combined(op.aux, truth, predicate(warp, op.c));
    for (int i = 0; i < kLanes; ++i) values[i] |= (truth >> i & 1u) != 0 ? op.more << 16 * half : 0;
  }
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), values);
}

/// What `set` gives where the comparison holds, of pairs in each half; 0: there is no such form.
std::uint32_t truth_value(Type result, Type type) {
  const bool pair = is_pair(type);
  switch (result) {
    case Type::u32:
    case Type::s32:
      return pair ? 0xFFFFu : 0xFFFFFFFFu;
    case Type::f32:
      return pair ? 0 : 0x3F800000u;
    case Type::f16:
      return pair ? 0 : 0x3C00u;
    case Type::bf16:
      return pair ? 0 : 0x3F80u;
    case Type::u16:
    case Type::s16:
      return pair ? 0 : 0xFFFFu;
    case Type::f16x2:
      return type == Type::f16x2 ? 0x3C00u : 0;
    case Type::bf16x2:
      return type == Type::bf16x2 ? 0x3F80u : 0;
    default:
      return 0;
  }
}

std::optional<Op> lower_set(Lowering& lowering) {
  accept(lowering);
  const Type type = lowering.type(0), result = lowering.type(1);
  const Compare run = comparison(element_of(type), relation_of(lowering), lowering.has("ftz"));
  const std::uint32_t yes = truth_value(result, type);
  if (run == nullptr || yes == 0) Lowering::unsupported("set of these types");
  Op op{.run = is_pair(type) ? set_pair : set,
        .d = lowering.destination(lowering.operand(0), result),
        .a = lowering.source(lowering.operand(1), type),
        .b = lowering.source(lowering.operand(2), type),
        .more = yes,
        .immediate = reinterpret_cast<std::int64_t>(run),
        .aux = combination(lowering)};
  if (op.aux != kPlain) op.c = lowering.predicate(lowering.operand(3));
  lowering.classify(InstructionClass::predicate);
  return op;
}

}  // namespace

std::span<const Mnemonic> compare_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"setp", lower_setp}, {"set", lower_set}};
  return kMnemonics;
}

}  // namespace ak::emulator

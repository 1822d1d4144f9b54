// SPDX-License-Identifier: Apache-2.0
// mma.sync and wmma.mma: D = A * B + C on the fragments of one warp.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/machine/warp_sync.h"
#include "emulator/matrices/matrix_form.h"
#include "emulator/matrices/matrix_memory_ops.h"
#include "emulator/matrices/matrix_row_ops.h"
#include "emulator/matrices/scaled_matrix_ops.h"
#include "emulator/matrices/undefined_products.h"

namespace ak::emulator {
namespace {

// ---- handlers

void multiply_floats(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const Fragments all = fragments_of(warp, op);
  alignas(64) double a[kMaxM * kMaxK], b[kMaxN * kMaxK], c[kMaxM * kMaxN];
  read_rows(warp, all.a_slots, all.a, float_decoder(all.a.type), a);
  read_columns(warp, all.b_slots, all.b, float_decoder(all.b.type), b);
  read_accumulators(warp, all.c_slots, all.c, c);
  carry_undefined(warp, all);
  const auto multiply =
      all.a.type == Type::f64 ? multiply_add_fused : static_cast<decltype(&multiply_add_fused)>(multiply_add);
  multiply(a, b, c, all.a.lines, all.b.lines, all.a.length);
  write_accumulators(warp, all.d_slots, all.d, c);
}

void multiply_integers(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const Fragments all = fragments_of(warp, op);
  const int m = all.a.lines, n = all.b.lines;
  alignas(64) std::int32_t a[kMaxM * kMaxK], b[kMaxN * kMaxK], c[kMaxM * kMaxN];
  read_rows(warp, all.a_slots, all.a, integer_decoder(all.a.type), a);
  read_columns(warp, all.b_slots, all.b, integer_decoder(all.b.type), b);
  read_accumulators(warp, all.c_slots, all.c, c);
  carry_undefined(warp, all);
  if (accumulator_form(op).saturate) {
    alignas(64) std::int32_t products[kMaxM * kMaxN];
    std::fill_n(products, m * n, 0);
    multiply_add(a, b, products, m, n, all.a.length);
    add_saturating(products, c, m * n);
  } else {
    multiply_add(a, b, c, m, n, all.a.length);
  }
  write_accumulators(warp, all.d_slots, all.d, c);
}

void copy_words(const std::byte* from, int count, std::uint32_t* to) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *to);
}

void multiply_bits(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const Fragments all = fragments_of(warp, op);
  constexpr int kMaxWords = 8, kWordBits = 32;
  const int m = all.a.lines, n = all.b.lines, words = all.a.length / kWordBits;
  alignas(64) std::uint32_t a[kMaxM * kMaxWords], b[kMaxN * kMaxWords];
  alignas(64) std::int32_t c[kMaxM * kMaxN];
  read_rows<std::uint32_t>(warp, all.a_slots, {Role::a, Type::b32, m, words}, copy_words, a);
  read_columns<std::uint32_t>(warp, all.b_slots, {Role::b, Type::b32, n, words}, copy_words, b);
  read_accumulators(warp, all.c_slots, all.c, c);
  carry_undefined(warp, all);
  multiply_add_bits(a, b, c, m, n, words, accumulator_form(op).bits == BitOperation::exclusive_or);
  write_accumulators(warp, all.d_slots, all.d, c);
}

// ---- which forms there are (PTX ISA 9.0, 9.7.14.5.14 "mma" and 9.7.14.4.5 "wmma.mma")

enum class Numbers : std::uint8_t { f16, bf16, tf32, f8, f64, bytes, nibbles, single_bits };

struct Family {
  Numbers numbers;
  std::array<Type, 2> elements;      ///< of A and B; either for each
  std::array<Type, 2> accumulators;  ///< of C and D
  Handler run;
  std::vector<MatrixShape> mma_shapes;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {Numbers::f16,
       {Type::f16, Type::f16},
       {Type::f16, Type::f32},
       multiply_floats,
       {{16, 8, 8}, {16, 8, 16}}},
      {Numbers::bf16,
       {Type::bf16, Type::bf16},
       {Type::f32, Type::f32},
       multiply_floats,
       {{16, 8, 8}, {16, 8, 16}}},
      {Numbers::tf32,
       {Type::tf32, Type::tf32},
       {Type::f32, Type::f32},
       multiply_floats,
       {{16, 8, 4}, {16, 8, 8}}},
      {Numbers::f8,
       {Type::e4m3, Type::e5m2},
       {Type::f16, Type::f32},
       multiply_floats,
       {{16, 8, 16}, {16, 8, 32}}},
      {Numbers::f64,
       {Type::f64, Type::f64},
       {Type::f64, Type::f64},
       multiply_floats,
       {{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}}},
      {Numbers::bytes,
       {Type::s8, Type::u8},
       {Type::s32, Type::s32},
       multiply_integers,
       {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}}},
      {Numbers::nibbles,
       {Type::s4, Type::u4},
       {Type::s32, Type::s32},
       multiply_integers,
       {{8, 8, 32}, {16, 8, 32}, {16, 8, 64}}},
      {Numbers::single_bits,
       {Type::b1, Type::b1},
       {Type::s32, Type::s32},
       multiply_bits,
       {{8, 8, 128}, {16, 8, 128}, {16, 8, 256}}},
  };
  return all;
}

bool among(const std::array<Type, 2>& types, Type type) { return types[0] == type || types[1] == type; }

const Family& family_of(const MatrixForm& form, const AccumulatorForm& accumulator) {
  for (const Family& family : families()) {
    if (among(family.elements, form.a) && among(family.elements, form.b) &&
        among(family.accumulators, accumulator.c) && among(family.accumulators, accumulator.d))
      return family;
  }
  Lowering::unsupported(fmt::format("the types {} x {} + {} = {}", to_string(form.a), to_string(form.b),
                                    to_string(accumulator.c), to_string(accumulator.d)));
}

BitOperation bit_operation(const Lowering& lowering) {
  if (!lowering.has("popc")) return BitOperation::none;
  return lowering.has("xor") ? BitOperation::exclusive_or : BitOperation::conjunction;
}

void refuse_misplaced(const Lowering& lowering, const Family& family, BitOperation bits) {
  const bool integers = family.numbers == Numbers::bytes || family.numbers == Numbers::nibbles;
  if ((bits != BitOperation::none) != (family.numbers == Numbers::single_bits) ||
      (lowering.has("xor") == lowering.has("and") && bits != BitOperation::none))
    Lowering::unsupported("this operation on bits");
  if (lowering.has("satfinite") && !integers) Lowering::unsupported("modifier .satfinite");
  if (lowering.has("rn") && family.numbers != Numbers::f64) Lowering::unsupported("modifier .rn");
}

Op multiplication(Lowering& lowering, const MatrixForm& form, AccumulatorForm accumulator, bool repeated) {
  const Family& family = family_of(form, accumulator);
  accumulator.bits = bit_operation(lowering);
  accumulator.saturate = lowering.has("satfinite");
  refuse_misplaced(lowering, family, accumulator.bits);
  Op op{.run = family.run,
        .immediate = std::bit_cast<std::int64_t>(form),
        .aux = std::bit_cast<std::uint32_t>(accumulator)};
  if (lowering.operand_count() != 4) Lowering::unsupported("this number of operands");
  std::vector<Slot> slots =
      fragment_destinations(lowering, lowering.operand(0), accumulator_layout(form.shape, accumulator.d));
  const auto append = [&](std::size_t i, const FragmentLayout& layout) {
    const std::vector<Slot> more = fragment_sources(lowering, lowering.operand(i), layout, repeated);
    slots.insert(slots.end(), more.begin(), more.end());
  };
  append(1, layout_of_a(form));
  append(2, layout_of_b(form));
  append(3, accumulator_layout(form.shape, accumulator.c));
  lowering.more(op, slots);
  const std::uint32_t products = std::uint32_t{form.shape.m} * form.shape.n * form.shape.k;
  lowering.classify(InstructionClass::tensor, 2 * products / kLanes, form.a);
  return op;
}

std::optional<Op> lower_mma(Lowering& lowering) {
  if (names_kind(lowering)) return lower_mma_of_kind(lowering);
  const NamedShape shape = shape_of(lowering);
  lowering.accept_modifiers(
      {"sync", "aligned", shape.name, "row", "col", "satfinite", "xor", "and", "popc", "rn"});
  const MatrixForm form{shape.shape, lowering.type(2), lowering.type(1)};
  const AccumulatorForm accumulator{.d = lowering.type(3), .c = lowering.type(0)};
  const Family& family = family_of(form, accumulator);
  const auto& shapes = family.mma_shapes;
  if (std::find(shapes.begin(), shapes.end(), form.shape) == shapes.end())
    Lowering::unsupported(fmt::format("shape .{} of these types", shape.name));
  const auto& modifiers = lowering.modifiers();
  const auto row = std::find(modifiers.begin(), modifiers.end(), "row");
  if (row == modifiers.end() || row + 1 == modifiers.end() || *(row + 1) != "col")
    Lowering::unsupported("matrices that are not .row.col");
  return multiplication(lowering, form, accumulator, false);
}

// ---- wmma

int count_of_types(const Lowering& lowering) {
  const auto& modifiers = lowering.modifiers();
  return static_cast<int>(std::count_if(modifiers.begin(), modifiers.end(),
                                        [](std::string_view name) { return parse_type(name).has_value(); }));
}

// Fragments are laid out the same whatever the layout was in memory.
Op lower_wmma_mma(Lowering& lowering) {
  const NamedShape shape = shape_of(lowering);
  lowering.accept_modifiers(
      {"mma", "sync", "aligned", shape.name, "row", "col", "satfinite", "xor", "and", "popc", "rn"});
  MatrixForm form{shape.shape, Type::f16, Type::f16};
  const bool named = count_of_types(lowering) == 4;  // f16 x f16 is written with the types of D and C only
  if (named) form.a = lowering.type(2), form.b = lowering.type(1);
  const AccumulatorForm accumulator{.d = lowering.type(named ? 3 : 1), .c = lowering.type(0)};
  if (form.a != form.b || !is_wmma_shape(form.shape, form.a))
    Lowering::unsupported(fmt::format("shape .{} of these types", shape.name));
  return multiplication(lowering, form, accumulator, form.a == Type::f16);
}

std::optional<Op> lower_wmma(Lowering& lowering) {
  if (lowering.has("mma")) return lower_wmma_mma(lowering);
  if (lowering.has("load")) return lower_wmma_load(lowering);
  if (lowering.has("store")) return lower_wmma_store(lowering);
  return std::nullopt;
}

}  // namespace

std::span<const Mnemonic> matrix_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"mma", lower_mma},           {"wmma", lower_wmma},           {"ldmatrix", lower_ldmatrix},
      {"stmatrix", lower_stmatrix}, {"movmatrix", lower_movmatrix},
  };
  return kMnemonics;
}

}  // namespace ak::emulator

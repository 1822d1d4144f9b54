// SPDX-License-Identifier: Apache-2.0
#include "emulator/matrices/matrix_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace ak::emulator {
namespace {

std::optional<MatrixShape> parse_shape(std::string_view text) {
  MatrixShape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const auto& [letter, to] : {std::pair{'m', &shape.m}, {'n', &shape.n}, {'k', &shape.k}}) {
    if (at == end || *at != letter) return std::nullopt;
    const auto [rest, error] = std::from_chars(at + 1, end, *to);
    if (error != std::errc{}) return std::nullopt;
    at = rest;
  }
  if (at != end) return std::nullopt;
  return shape;
}

std::vector<Slot> checked(std::vector<Slot> slots, const FragmentLayout& layout) {
  if (static_cast<int>(slots.size()) != layout.registers())
    Lowering::unsupported(fmt::format("a fragment of {} registers", slots.size()));
  return slots;
}

}  // namespace

NamedShape shape_of(const Lowering& lowering) {
  for (const std::string_view modifier : lowering.modifiers()) {
    if (const auto shape = parse_shape(modifier)) return {modifier, *shape};
  }
  Lowering::unsupported("a matrix instruction without a shape");
}

Fragments fragments_of(const Warp& warp, const Op& op) {
  const MatrixForm form = matrix_form(op);
  const AccumulatorForm accumulator = accumulator_form(op);
  Fragments all{.a = layout_of_a(form),
                .b = layout_of_b(form),
                .c = accumulator_layout(form.shape, accumulator.c),
                .d = accumulator_layout(form.shape, accumulator.d)};
  all.d_slots = warp.launch->program.slots.data() + op.more;
  all.a_slots = all.d_slots + all.d.registers();
  all.b_slots = all.a_slots + all.a.registers();
  all.c_slots = all.b_slots + all.b.registers();
  return all;
}

Type register_type(const FragmentLayout& layout) {
  if (layout.type == Type::f64) return Type::f64;
  return layout.role == Role::accumulator && layout.type == Type::f32 ? Type::f32 : Type::b32;
}

std::vector<Slot> fragment_sources(Lowering& lowering, const Operand& list, const FragmentLayout& layout,
                                   bool repeated) {
  std::vector<Slot> slots = lowering.sources(list, register_type(layout));
  constexpr std::size_t kRepeated = 8;
  if (repeated && slots.size() == kRepeated) slots.resize(static_cast<std::size_t>(layout.registers()));
  return checked(std::move(slots), layout);
}

std::vector<Slot> fragment_destinations(Lowering& lowering, const Operand& list,
                                        const FragmentLayout& layout) {
  return checked(lowering.destinations(list, register_type(layout)), layout);
}

void add_saturating(const std::int32_t* products, std::int32_t* sums, int count) {
  using Limits = std::numeric_limits<std::int32_t>;
  for (int i = 0; i < count; ++i) {
    const std::int64_t sum = std::int64_t{products[i]} + sums[i];
    sums[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, Limits::min(), Limits::max()));
  }
}

}  // namespace ak::emulator

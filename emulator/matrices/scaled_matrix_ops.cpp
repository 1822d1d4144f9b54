// SPDX-License-Identifier: Apache-2.0
#include "emulator/matrices/scaled_matrix_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/machine/shared_range.h"
#include "emulator/machine/warp_sync.h"
#include "emulator/matrices/matrix_form.h"
#include "emulator/matrices/undefined_products.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {
namespace {

/// Beyond MatrixForm, whose types are those of the containers of elements: b8 where each has a byte of its own,
/// else e2m1. Travels in Op::c.
struct NarrowForm {
  Type a = Type::e4m3, b = Type::e4m3;
  Type scale = Type::ue8m0;
  std::uint8_t scales = 0;  ///< of a row of A and of a column of B; 0: there are none
};
static_assert(sizeof(NarrowForm) == sizeof(Slot));
NarrowForm narrow_form(const Op& op) { return std::bit_cast<NarrowForm>(op.c); }

// ---- scales (PTX ISA 9.0, 9.7.14.3 "Block scaling for mma.sync"): four bytes of a register, in the lanes that two
// numbers select.

/// Slots behind those of the matrices, for A and then for B: register, byte and thread.
struct ScaleOperand {
  const Slot* slots = nullptr;
  std::uint32_t byte = 0, thread = 0;
};
constexpr std::ptrdiff_t kScaleSlots = 3;

/// A selector is one number for the warp.
std::optional<std::uint32_t> selector(Warp& warp, const Op& op, Slot slot) {
  const std::uint32_t* values = source<std::uint32_t>(warp, slot);
  const std::uint32_t first = values[std::countr_zero(warp.mask)];
  bool same = true;
  for_each_lane(warp.mask, [&](int lane) { same = same && values[lane] == first; });
  if (same) return first;
  stop_with(warp, op, std::countr_zero(warp.mask), FaultKind::invalid_operand,
            "the lanes select different scales, and the warp has one selector");
  return std::nullopt;
}

std::optional<ScaleOperand> scale_operand(Warp& warp, const Op& op, const Slot* slots, std::uint32_t scales,
                                          std::uint32_t threads) {
  const auto byte = selector(warp, op, slots[1]);
  if (!byte) return std::nullopt;
  const auto thread = selector(warp, op, slots[2]);
  if (!thread) return std::nullopt;
  if (*byte < 4 && *byte % scales == 0 && *thread < threads) return ScaleOperand{slots, *byte, *thread};
  stop_with(
      warp, op, std::countr_zero(warp.mask), FaultKind::invalid_operand,
      fmt::format(
          "byte {} and thread {} hold no scales: bytes are multiples of {} below 4, threads are below {}",
          *byte, *thread, scales, threads));
  return std::nullopt;
}

/// Of each 4 lanes two have the scales of rows `line` and `line + 8` of A, one those of a column of B.
int lane_of_row(const ScaleOperand& scale, int row) {
  return 4 * (row % 8) + 2 * static_cast<int>(scale.thread) + row / 8;
}
int lane_of_column(const ScaleOperand& scale, int column) {
  return 4 * column + static_cast<int>(scale.thread);
}

using BlockScales = std::array<double, 4>;
BlockScales scales_in(const Warp& warp, const NarrowForm& form, const ScaleOperand& scale, int lane) {
  const std::uint32_t word = source<std::uint32_t>(warp, scale.slots[0])[lane] >> (8 * scale.byte);
  BlockScales values{};
  for (std::size_t i = 0; i < form.scales; ++i) {
    const std::uint32_t code = word >> (8 * i) & 0xFFu;
    values[i] = form.scale == Type::ue4m3 ? ue4m3_to_float(code) : ue8m0_to_float(code);
  }
  return values;
}

UndefinedValues::Origin undefined_in(Warp& warp, const NarrowForm& form, const ScaleOperand& scale,
                                     int lane) {
  if (warp.undefined == nullptr || (scale.slots[0] & kConstantSlot) != 0) return 0;
  const UndefinedValues::Origin* const states = warp.undefined->at(scale.slots[0], lane, 4) + scale.byte;
  return *std::max_element(states, states + form.scales);
}

/// Multiplies the factors with their scales, exactly; false after a fault.
bool apply_scales(Warp& warp, const Op& op, const Fragments& all, double* a, double* b,
                  UndefinedFactors& undefined) {
  const NarrowForm form = narrow_form(op);
  if (form.scales == 0) return true;
  const Slot* const slots = all.c_slots + all.c.registers();
  const auto of_a = scale_operand(warp, op, slots, form.scales, 2);
  if (!of_a) return false;
  const auto of_b = scale_operand(warp, op, slots + kScaleSlots, form.scales, 4);
  if (!of_b) return false;
  const int m = all.a.lines, n = all.b.lines, k = all.a.length, block = k / form.scales;
  for (int row = 0; row < m; ++row) {
    const int lane = lane_of_row(*of_a, row);
    const BlockScales scales = scales_in(warp, form, *of_a, lane);
    undefined.rows[static_cast<std::size_t>(row)] = undefined_in(warp, form, *of_a, lane);
    for (int p = 0; p < k; ++p) a[row * k + p] *= scales[static_cast<std::size_t>(p / block)];
  }
  for (int column = 0; column < n; ++column) {
    const int lane = lane_of_column(*of_b, column);
    const BlockScales scales = scales_in(warp, form, *of_b, lane);
    undefined.columns[static_cast<std::size_t>(column)] = undefined_in(warp, form, *of_b, lane);
    for (int p = 0; p < k; ++p) b[p * n + column] *= scales[static_cast<std::size_t>(p / block)];
  }
  return true;
}

void multiply_narrow(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const Fragments all = fragments_of(warp, op);
  const NarrowForm form = narrow_form(op);
  const auto decoder = [&](Type element) {
    return all.a.type == Type::b8 ? byte_decoder(element) : float_decoder(element);
  };
  alignas(64) double a[kMaxM * kMaxK], b[kMaxN * kMaxK], c[kMaxM * kMaxN];
  read_rows(warp, all.a_slots, all.a, decoder(form.a), a);
  read_columns(warp, all.b_slots, all.b, decoder(form.b), b);
  read_accumulators(warp, all.c_slots, all.c, c);
  UndefinedFactors undefined;
  if (!apply_scales(warp, op, all, a, b, undefined)) return;
  carry_undefined(warp, all, undefined);
  multiply_add(a, b, c, all.a.lines, all.b.lines, all.a.length);
  write_accumulators(warp, all.d_slots, all.d, c);
}

// ---- which forms there are (PTX ISA 9.0, tables of 9.7.14.3 and of "mma")

struct ScaleForm {
  std::string_view modifier;
  Type type;
  std::uint8_t count;
  bool by_default;  ///< the modifier may be left out
};
struct Kind {
  std::string_view name;
  MatrixShape shape;
  std::vector<Type> elements;  ///< of A and B; either for each
  bool bytes;                  ///< each element has a byte
  std::vector<Type> accumulators;
  std::vector<ScaleForm> scales;  ///< empty: none
};

const std::vector<Kind>& kinds() {
  using enum Type;
  static const std::vector<Type> narrow = {e4m3, e5m2, e3m2, e2m3, e2m1};
  static const std::vector<Kind> all = {
      {"kind::f8f6f4", {16, 8, 32}, narrow, true, {f16, f32}, {}},
      {"kind::f8f6f4", {16, 8, 16}, {e4m3, e5m2}, true, {f16, f32}, {}},
      {"kind::mxf8f6f4", {16, 8, 32}, narrow, true, {f32}, {{"scale_vec::1X", ue8m0, 1, true}}},
      {"kind::mxf4", {16, 8, 64}, {e2m1}, false, {f32}, {{"scale_vec::2X", ue8m0, 2, true}}},
      {"kind::mxf4nvf4",
       {16, 8, 64},
       {e2m1},
       false,
       {f32},
       {{"scale_vec::2X", ue8m0, 2, false}, {"scale_vec::4X", ue4m3, 4, false}}},
  };
  return all;
}

bool is_among(const std::vector<Type>& types, Type type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

const Kind& kind_of(const Lowering& lowering, const NamedShape& shape) {
  for (const Kind& kind : kinds()) {
    if (lowering.has(kind.name) && kind.shape == shape.shape) return kind;
  }
  Lowering::unsupported(fmt::format("shape .{} of this kind", shape.name));
}

/// The scales that the modifiers and the last type name; null for a kind without.
const ScaleForm* scale_form(const Lowering& lowering, const Kind& kind) {
  if (lowering.has("block_scale") == kind.scales.empty())
    Lowering::unsupported("this kind with or without .block_scale");
  if (kind.scales.empty()) return nullptr;
  const bool named =
      std::ranges::any_of(lowering.modifiers(), [](const auto& m) { return m.starts_with("scale_vec"); });
  for (const ScaleForm& form : kind.scales) {
    const bool meant = named ? lowering.has(form.modifier) : form.by_default;
    if (meant && lowering.type() == form.type) return &form;
  }
  Lowering::unsupported("this number of scales, or their type, with this kind");
}

void append_scale(Lowering& lowering, std::size_t operand, std::vector<Slot>& slots) {
  slots.push_back(lowering.source(lowering.operand(operand), Type::b32));
  const std::vector<Slot> selectors = lowering.sources(lowering.operand(operand + 1), Type::b16);
  if (selectors.size() != 2) Lowering::unsupported("this selector of scales");
  slots.insert(slots.end(), selectors.begin(), selectors.end());
}

void append_factors(Lowering& lowering, std::size_t operand, const FragmentLayout& layout,
                    std::vector<Slot>& slots) {
  const std::vector<Slot> more = fragment_sources(lowering, lowering.operand(operand), layout);
  slots.insert(slots.end(), more.begin(), more.end());
}

}  // namespace

bool names_kind(const Lowering& lowering) {
  return std::ranges::any_of(lowering.modifiers(), [](const auto& m) { return m.starts_with("kind::"); });
}

std::optional<Op> lower_mma_of_kind(Lowering& lowering) {
  const NamedShape shape = shape_of(lowering);
  lowering.accept_modifiers({"sync", "aligned", shape.name, "row", "col", "kind::f8f6f4", "kind::mxf8f6f4",
                             "kind::mxf4", "kind::mxf4nvf4", "block_scale", "scale_vec::1X", "scale_vec::2X",
                             "scale_vec::4X"});
  const Kind& kind = kind_of(lowering, shape);
  const ScaleForm* const scales = scale_form(lowering, kind);
  const int last = scales != nullptr ? 1 : 0;
  NarrowForm narrow{.a = lowering.type(last + 2), .b = lowering.type(last + 1)};
  const AccumulatorForm accumulator{.d = lowering.type(last + 3), .c = lowering.type(last)};
  if (!is_among(kind.elements, narrow.a) || !is_among(kind.elements, narrow.b) ||
      accumulator.c != accumulator.d || !is_among(kind.accumulators, accumulator.d))
    Lowering::unsupported("these types with this kind");
  if (scales != nullptr) narrow.scale = scales->type, narrow.scales = scales->count;
  if (lowering.operand_count() != (scales != nullptr ? 8u : 4u))
    Lowering::unsupported("this number of operands");
  const Type container = kind.bytes ? Type::b8 : Type::e2m1;
  const MatrixForm form{shape.shape, container, container};
  Op op{.run = multiply_narrow,
        .c = std::bit_cast<Slot>(narrow),
        .immediate = std::bit_cast<std::int64_t>(form),
        .aux = std::bit_cast<std::uint32_t>(accumulator)};
  std::vector<Slot> slots =
      fragment_destinations(lowering, lowering.operand(0), accumulator_layout(form.shape, accumulator.d));
  append_factors(lowering, 1, layout_of_a(form), slots);
  append_factors(lowering, 2, layout_of_b(form), slots);
  append_factors(lowering, 3, accumulator_layout(form.shape, accumulator.c), slots);
  for (const std::size_t operand : {4, 6}) {
    if (scales != nullptr) append_scale(lowering, operand, slots);
  }
  lowering.more(op, slots);
  const std::uint32_t products = std::uint32_t{form.shape.m} * form.shape.n * form.shape.k;
  lowering.classify(InstructionClass::tensor, 2 * products / kLanes, narrow.a);
  return op;
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emulator/lower/lowering.h"
#include "emulator/matrices/fragment_layout.h"

namespace ak::emulator {

/// m x n x k of a matrix instruction.
struct MatrixShape {
  std::uint16_t m = 0, n = 0, k = 0;
  bool operator==(const MatrixShape&) const = default;
};

/// The modifier that is a shape ("m16n8k16"); UnsupportedInstruction when there is none.
struct NamedShape {
  std::string_view name;
  MatrixShape shape;
};
[[nodiscard]] NamedShape shape_of(const Lowering& lowering);

/// What a multiplication needs to know in addition to its registers; travels in Op::immediate and Op::aux.
struct MatrixForm {
  MatrixShape shape;
  Type a = Type::f16, b = Type::f16;
};
static_assert(sizeof(MatrixForm) == sizeof(std::int64_t));
enum class BitOperation : std::uint8_t { none, exclusive_or, conjunction };
struct AccumulatorForm {
  Type d = Type::f32, c = Type::f32;
  bool saturate = false;  ///< .satfinite
  BitOperation bits = BitOperation::none;
};
static_assert(sizeof(AccumulatorForm) == sizeof(std::uint32_t));

[[nodiscard]] inline MatrixForm matrix_form(const Op& op) { return std::bit_cast<MatrixForm>(op.immediate); }
[[nodiscard]] inline AccumulatorForm accumulator_form(const Op& op) {
  return std::bit_cast<AccumulatorForm>(op.aux);
}

[[nodiscard]] inline FragmentLayout layout_of_a(const MatrixForm& form) {
  return {Role::a, form.a, form.shape.m, form.shape.k};
}
[[nodiscard]] inline FragmentLayout layout_of_b(const MatrixForm& form) {
  return {Role::b, form.b, form.shape.n, form.shape.k};
}
[[nodiscard]] inline FragmentLayout accumulator_layout(const MatrixShape& shape, Type type) {
  return {Role::accumulator, type, shape.m, shape.n};
}

inline constexpr int kMaxM = 32, kMaxN = 32, kMaxK = 64;  ///< of elements that are numbers, not bits

/// The matrices of a multiplication. Slots in Op::more: D, A, B, C, as many of each as its layout has registers.
struct Fragments {
  FragmentLayout a, b, c, d;
  const Slot *d_slots = nullptr, *a_slots = nullptr, *b_slots = nullptr, *c_slots = nullptr;
};
[[nodiscard]] Fragments fragments_of(const Warp& warp, const Op& op);

/// Type under which Lowering is asked for the registers of a fragment.
[[nodiscard]] Type register_type(const FragmentLayout& layout);
/// Slots of a fragment. wmma has 8 registers for f16 matrices of any size: `repeated` drops those beyond the
/// layout's. UnsupportedInstruction when the number is not the layout's.
[[nodiscard]] std::vector<Slot> fragment_sources(Lowering& lowering, const Operand& list,
                                                 const FragmentLayout& layout, bool repeated = false);
[[nodiscard]] std::vector<Slot> fragment_destinations(Lowering& lowering, const Operand& list,
                                                      const FragmentLayout& layout);

/// Sum of products and accumulators of s32 that stops at the ends of the range.
void add_saturating(const std::int32_t* products, std::int32_t* sums, int count);

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {

/// Which of the float families an instruction belongs to: its one type when that is f32, f32x2 or f64;
/// nothing for integers and for instructions that involve a half.
[[nodiscard]] std::optional<Type> wide_float_type(const Lowering& lowering);
/// .rn (also when nothing is said), .rz, .rm or .rp.
[[nodiscard]] Rounding rounding_of(const Lowering& lowering);
[[nodiscard]] InstructionClass class_of(Type type);
/// Fills an Op whose operands are d and one to three inputs, all of `type`.
[[nodiscard]] Op lower_operands(Lowering& lowering, Handler run, Type type, std::size_t inputs);

[[nodiscard]] std::optional<Op> lower_f64_add(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_f64_sub(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_f64_mul(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_f64_fma(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_f64_div(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_f64_rcp(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_f64_sqrt(Lowering& lowering);

[[nodiscard]] std::optional<Op> lower_float_min(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_float_max(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_float_abs(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_float_neg(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_copysign(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_testp(Lowering& lowering);

}  // namespace ak::emulator

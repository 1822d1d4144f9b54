// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {

// The parts of cvt, by what they convert. Each fills an Op or throws UnsupportedInstruction.

[[nodiscard]] Op lower_integer_to_integer(Lowering& lowering, Type to,
                                          Type from);                             ///< convert_ops_integer.cpp
[[nodiscard]] Op lower_pack(Lowering& lowering);                                  ///< cvt.pack
[[nodiscard]] Op lower_float_to_integer(Lowering& lowering, Type to, Type from);  ///< convert_ops_round.cpp
[[nodiscard]] Op lower_integer_to_float(Lowering& lowering, Type to, Type from);
[[nodiscard]] Op lower_float_to_float(Lowering& lowering, Type to, Type from);  ///< convert_ops_float.cpp
/// tf32, pairs and the formats of 8 bits and less; nothing when neither type is one of them.
[[nodiscard]] std::optional<Op> lower_narrow(Lowering& lowering, Type to,
                                             Type from);  ///< convert_ops_narrow.cpp

/// f16, bf16, f32 or f64: how handlers are chosen. UnsupportedInstruction for another type.
enum class ScalarFloat : std::uint8_t { f16, bf16, f32, f64 };
[[nodiscard]] ScalarFloat scalar_float(Type type);
[[nodiscard]] bool is_scalar_integer(Type type);  ///< u8 ... s64

/// .rn .rz .rm .rp; nothing without one.
[[nodiscard]] std::optional<Rounding> float_rounding(const Lowering& lowering);
/// .rni .rzi .rmi .rpi as the float rounding of that direction; nothing without one.
[[nodiscard]] std::optional<Rounding> integer_rounding(const Lowering& lowering);
/// Index of .rn .rz .rm .rp, in this order, into tables of handlers.
[[nodiscard]] constexpr std::size_t index_of(Rounding rounding) { return static_cast<std::size_t>(rounding); }

// Modifiers in Op::aux.
inline constexpr std::uint32_t kConvertFtz = 1, kConvertSat = 2, kConvertRelu = 4, kConvertSatfinite = 8;
[[nodiscard]] std::uint32_t convert_flags(const Lowering& lowering);

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ak::emulator {

/// Fundamental and alternate types of PTX (PTX ISA 9.0, sections 5.2.1 and 5.2.3).
enum class Type : std::uint8_t {
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  u16x2,
  s16x2,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  e2m1,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  s4,
  u4,
  b1,
  e3m2,
  e2m3,
  ue8m0,
  ue4m3,
};

/// "f32" (no dot) -> Type::f32; nothing for what is not a type.
[[nodiscard]] std::optional<Type> parse_type(std::string_view name);
[[nodiscard]] std::string_view to_string(Type type);

/// Size in bits; 1 for pred.
[[nodiscard]] int bits(Type type);
/// Size in bytes of a memory access of that type, at least 1.
[[nodiscard]] int bytes(Type type);
[[nodiscard]] bool is_float(Type type);   ///< f16 ... f64, packed and alternate formats included
[[nodiscard]] bool is_signed(Type type);  ///< s8 ... s64

/// State spaces (PTX ISA 9.0, section 5.1). `none` is generic addressing.
enum class Space : std::uint8_t { none, reg, sreg, constant, global, local, param, shared, shared_cluster };
[[nodiscard]] std::string_view to_string(Space space);

}  // namespace ak::emulator

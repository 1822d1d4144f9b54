// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/convert_ops.h"

#include <string>

namespace ak::emulator {

ScalarFloat scalar_float(Type type) {
  switch (type) {
    case Type::f16:
      return ScalarFloat::f16;
    case Type::bf16:
      return ScalarFloat::bf16;
    case Type::f32:
      return ScalarFloat::f32;
    case Type::f64:
      return ScalarFloat::f64;
    default:
      Lowering::unsupported("type " + std::string(to_string(type)));
  }
}

bool is_scalar_integer(Type type) { return type >= Type::u8 && type <= Type::s64; }

std::optional<Rounding> float_rounding(const Lowering& lowering) {
  if (lowering.has("rn")) return Rounding::nearest_even;
  if (lowering.has("rz")) return Rounding::toward_zero;
  if (lowering.has("rm")) return Rounding::down;
  if (lowering.has("rp")) return Rounding::up;
  return std::nullopt;
}

std::optional<Rounding> integer_rounding(const Lowering& lowering) {
  if (lowering.has("rni")) return Rounding::nearest_even;
  if (lowering.has("rzi")) return Rounding::toward_zero;
  if (lowering.has("rmi")) return Rounding::down;
  if (lowering.has("rpi")) return Rounding::up;
  return std::nullopt;
}

std::uint32_t convert_flags(const Lowering& lowering) {
  std::uint32_t flags = 0;
  if (lowering.has("ftz")) flags |= kConvertFtz;
  if (lowering.has("sat")) flags |= kConvertSat;
  if (lowering.has("relu")) flags |= kConvertRelu;
  if (lowering.has("satfinite")) flags |= kConvertSatfinite;
  return flags;
}

namespace {

Op lower_scalar(Lowering& lowering, Type to, Type from) {
  if (lowering.operand_count() != 2) Lowering::unsupported("this number of operands");
  const bool to_integer = is_scalar_integer(to), from_integer = is_scalar_integer(from);
  if (to_integer && from_integer) return lower_integer_to_integer(lowering, to, from);
  if (to_integer) return lower_float_to_integer(lowering, to, from);
  if (from_integer) return lower_integer_to_float(lowering, to, from);
  return lower_float_to_float(lowering, to, from);
}

std::optional<Op> lower_convert(Lowering& lowering) {
  lowering.classify(InstructionClass::convert);
  if (lowering.has("pack")) return lower_pack(lowering);
  const Type to = lowering.type(1), from = lowering.type(0);
  if (std::optional<Op> op = lower_narrow(lowering, to, from)) return op;
  return lower_scalar(lowering, to, from);
}

}  // namespace

std::span<const Mnemonic> convert_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"cvt", lower_convert}};
  return kMnemonics;
}

}  // namespace ak::emulator

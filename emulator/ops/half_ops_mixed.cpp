// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/rounding.h"
#include "emulator/ops/half_ops.h"

namespace ak::emulator {
namespace {

/// a * b + c rounded once; the product of halves is exact in double.
template <Rounding kRounding>
float rounded_fma(float a, float b, float c) {
  if constexpr (kRounding == Rounding::nearest_even)
    return std::fma(a, b, c);
  else
    return round_sum_to_float<kRounding>(static_cast<double>(a) * b, static_cast<double>(c));
}
template <Rounding kRounding>
float rounded_sum(float a, float b) {
  if constexpr (kRounding == Rounding::nearest_even)
    return a + b;
  else
    return round_sum_to_float<kRounding>(static_cast<double>(a), static_cast<double>(b));
}

float finish_if(float value, bool sat) { return sat ? saturate(value) : canonical(value); }

template <bool kBfloat>
float half(std::uint32_t code) {
  return kBfloat ? bf16_to_float(code) : f16_to_float(code);
}

template <bool kBfloat, bool kSubtract, Rounding kRounding>
void mixed_sum(Warp& warp, const Op& op) {
  const bool sat = op.aux != 0;
  map_lanes<float, std::uint32_t, float>(
      warp, op.d,
      [sat](std::uint32_t a, float b) {
        return finish_if(rounded_sum<kRounding>(half<kBfloat>(a), kSubtract ? -b : b), sat);
      },
      op.a, op.b);
}

template <bool kBfloat, Rounding kRounding>
void mixed_fma(Warp& warp, const Op& op) {
  const bool sat = op.aux != 0;
  map_lanes<float, std::uint32_t, std::uint32_t, float>(
      warp, op.d,
      [sat](std::uint32_t a, std::uint32_t b, float c) {
        return finish_if(rounded_fma<kRounding>(half<kBfloat>(a), half<kBfloat>(b), c), sat);
      },
      op.a, op.b, op.c);
}

/// [operation][bf16].
template <Rounding kRounding>
constexpr Handler kMixed[3][2] = {
    {mixed_sum<false, false, kRounding>, mixed_sum<true, false, kRounding>},
    {mixed_sum<false, true, kRounding>, mixed_sum<true, true, kRounding>},
    {mixed_fma<false, kRounding>, mixed_fma<true, kRounding>},
};

Handler handler_of(const Lowering& lowering, MixedOperation operation, bool bfloat) {
  const auto row = static_cast<std::size_t>(operation);
  if (lowering.has("rz")) return kMixed<Rounding::toward_zero>[row][bfloat];
  if (lowering.has("rm")) return kMixed<Rounding::down>[row][bfloat];
  if (lowering.has("rp")) return kMixed<Rounding::up>[row][bfloat];
  return kMixed<Rounding::nearest_even>[row][bfloat];
}

}  // namespace

std::optional<Op> lower_mixed(Lowering& lowering, MixedOperation operation, Type half) {
  lowering.accept_modifiers({"rn", "rz", "rm", "rp", "sat"});
  const bool fma = operation == MixedOperation::fma;
  if (half != Type::f16 && half != Type::bf16) Lowering::unsupported("f32 with packed halves");
  if (lowering.operand_count() != (fma ? 4 : 3)) Lowering::unsupported("this number of operands");
  Op op;
  op.run = handler_of(lowering, operation, half == Type::bf16);
  op.aux = lowering.has("sat") ? 1 : 0;
  op.d = lowering.destination(lowering.operand(0), Type::f32);
  op.a = lowering.source(lowering.operand(1), half);
  op.b = lowering.source(lowering.operand(2), fma ? half : Type::f32);
  if (fma) op.c = lowering.source(lowering.operand(3), Type::f32);
  lowering.classify(InstructionClass::fp32, fma ? 2 : 1);
  return op;
}

}  // namespace ak::emulator

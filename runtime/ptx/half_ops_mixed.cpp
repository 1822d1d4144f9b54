// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "runtime/ptx/half_ops.h"
#include "runtime/ptx/lanes.h"
#include "runtime/ptx/rounded_sums.h"
#include "runtime/ptx/small_floats.h"

namespace ak::ptx {
namespace {

/// a + b rounded once. `a` has at most 26 bits, so that its sum with a float is exact or fit for rounding
/// again.
template <Rounding kRounding>
float rounded_sum(double a, float b) {
  const double sum = sum_to_odd(a, static_cast<double>(b));
  const std::uint32_t bits = encode<kF32, kRounding>(sum);
  const auto sign_a = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(a) >> 63) << 31;
  const std::uint32_t sign_b = std::bit_cast<std::uint32_t>(b) & 0x80000000u;
  // Only .rm makes the sum of x and -x negative.
  const std::uint32_t zero = kRounding == Rounding::down ? sign_a | sign_b : sign_a & sign_b;
  return std::bit_cast<float>(sum == 0 ? zero : bits);
}

float saturate(float value, bool on) {
  const float positive = value > 0.0f ? value : 0.0f;  // NaN becomes 0
  const float clamped = positive < 1.0f ? positive : 1.0f;
  return on ? clamped : value;
}

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
        return saturate(rounded_sum<kRounding>(half<kBfloat>(a), kSubtract ? -b : b), sat);
      },
      op.a, op.b);
}

template <bool kBfloat, Rounding kRounding>
void mixed_fma(Warp& warp, const Op& op) {
  const bool sat = op.aux != 0;
  map_lanes<float, std::uint32_t, std::uint32_t, float>(
      warp, op.d,
      [sat](std::uint32_t a, std::uint32_t b, float c) {
        const double product = static_cast<double>(half<kBfloat>(a)) * half<kBfloat>(b);  // exact
        return saturate(rounded_sum<kRounding>(product, c), sat);
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

}  // namespace ak::ptx

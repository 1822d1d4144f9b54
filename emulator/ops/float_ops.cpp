// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/float_ops.h"

#include <array>
#include <cmath>
#include <utility>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/rounding.h"

namespace ak::emulator {

std::optional<Type> wide_float_type(const Lowering& lowering) {
  std::optional<Type> only;
  for (const std::string_view modifier : lowering.modifiers()) {
    const std::optional<Type> type = parse_type(modifier);
    if (!type) continue;
    if (*type != Type::f32 && *type != Type::f32x2 && *type != Type::f64) return std::nullopt;
    if (only) Lowering::unsupported("two types");
    only = type;
  }
  return only;
}

Rounding rounding_of(const Lowering& lowering) {
  if (lowering.has("rz")) return Rounding::toward_zero;
  if (lowering.has("rm")) return Rounding::down;
  if (lowering.has("rp")) return Rounding::up;
  return Rounding::nearest_even;
}

InstructionClass class_of(Type type) {
  return type == Type::f64 ? InstructionClass::fp64 : InstructionClass::fp32;
}

Op lower_operands(Lowering& lowering, Handler run, Type type, std::size_t inputs) {
  if (lowering.operand_count() != inputs + 1) Lowering::unsupported("this number of operands");
  Op op;
  op.run = run;
  op.d = lowering.destination(lowering.operand(0), type);
  op.a = lowering.source(lowering.operand(1), type);
  if (inputs > 1) op.b = lowering.source(lowering.operand(2), type);
  if (inputs > 2) op.c = lowering.source(lowering.operand(3), type);
  return op;
}

namespace {

// What an operation computes: `nearest` leaves the rounding to the host, `directed` is exact for the other
// roundings. Quotients and roots go through double: a float is either the exact result or differs from it by
// more than 2^-49 of it (a - f * b and a - f * f are multiples of their last places), so a double is on the
// same side of every float as the exact result.

struct Add {
  static constexpr std::size_t kInputs = 2;
  static constexpr std::uint32_t kFlops = 1;
  static constexpr bool kSaturates = true, kPacks = true;
  static constexpr std::array<float, 2> kEnlarge{};  // a sum too small for a normal float is exact
  static constexpr auto kLowerF64 = lower_f64_add;
  static float nearest(float a, float b) { return a + b; }
  template <Rounding kRounding>
  static float directed(double a, double b) {
    return round_sum_to_float<kRounding>(a, b);
  }
};
struct Sub : Add {
  static constexpr auto kLowerF64 = lower_f64_sub;
  static float nearest(float a, float b) { return a - b; }
  template <Rounding kRounding>
  static float directed(double a, double b) {
    return round_sum_to_float<kRounding>(a, -b);
  }
};
struct Mul : Add {
  static constexpr std::array<float, 2> kEnlarge{0x1p24f, 1};
  static constexpr auto kLowerF64 = lower_f64_mul;
  static float nearest(float a, float b) { return a * b; }
  template <Rounding kRounding>
  static float directed(double a, double b) {
    return round_to_float<kRounding>(a * b);  // exact: 48 bits
  }
};
struct Fma {
  static constexpr std::size_t kInputs = 3;
  static constexpr std::uint32_t kFlops = 2;
  static constexpr bool kSaturates = true, kPacks = true;
  static constexpr std::array<float, 3> kEnlarge{0x1p24f, 1, 0x1p24f};
  static constexpr auto kLowerF64 = lower_f64_fma;
  static float nearest(float a, float b, float c) { return std::fma(a, b, c); }
  template <Rounding kRounding>
  static float directed(double a, double b, double c) {
    return round_sum_to_float<kRounding>(a * b, c);
  }
};
struct Div {
  static constexpr std::size_t kInputs = 2;
  static constexpr std::uint32_t kFlops = 1;
  static constexpr bool kSaturates = false, kPacks = false;
  static constexpr std::array<float, 2> kEnlarge{0x1p24f, 1};
  static constexpr auto kLowerF64 = lower_f64_div;
  static float nearest(float a, float b) { return a / b; }
  template <Rounding kRounding>
  static float directed(double a, double b) {
    return round_to_float<kRounding>(a / b);
  }
};
/// div.approx: within 2 ulp of a / b, except for 2^126 < |b| < 2^128, where the reciprocal that the GPU
/// multiplies by is flushed: zero, and NaN for an infinite a (PTX ISA 9.0, div).
struct DivApprox : Div {
  static float nearest(float a, float b) {
    const std::uint32_t bits = bits_of(b), magnitude = bits & ~kSignBit;
    const bool flushed = magnitude > bits_of(0x1p126f) && magnitude < kExponentMask;
    const float zero = a * float_of(bits & kSignBit);
    return flushed ? zero : a / b;
  }
};
struct Rcp : Div {
  static constexpr std::size_t kInputs = 1;
  static constexpr std::array<float, 1> kEnlarge{0x1p-24f};
  static constexpr auto kLowerF64 = lower_f64_rcp;
  static float nearest(float a) { return 1.0f / a; }
  template <Rounding kRounding>
  static float directed(double a) {
    return round_to_float<kRounding>(1.0 / a);
  }
};
struct Sqrt : Rcp {
  static constexpr std::array<float, 1> kEnlarge{};  // never too small
  static constexpr auto kLowerF64 = lower_f64_sqrt;
  static float nearest(float a) { return std::sqrt(a); }
  template <Rounding kRounding>
  static float directed(double a) {
    return round_to_float<kRounding>(std::sqrt(a));
  }
};

template <class F, Rounding kRounding, class... Inputs>
float rounded(Inputs... inputs) {
  if constexpr (kRounding == Rounding::nearest_even)
    return F::nearest(inputs...);
  else
    return F::template directed<kRounding>(static_cast<double>(inputs)...);
}

/// Whether the result, rounded to 24 bits as if exponents had no end, is below the smallest normal float:
/// what .ftz makes zero (seen on an H200), though the float nearest to it may be normal. Inputs multiplied by
/// F::kEnlarge give the result times 2^24, which is rounded so. Overflow on the way means that it is large.
template <class F, Rounding kRounding, std::size_t... kIndex, class... Inputs>
bool too_small(std::index_sequence<kIndex...>, Inputs... inputs) {
  return std::abs(rounded<F, kRounding>(inputs * F::kEnlarge[kIndex]...)) < 0x1p-102f;
}

template <class F, Rounding kRounding, bool kFtz, bool kSat, class... Inputs>
float compute(Inputs... given) {
  const auto apply = [](auto... inputs) {
    const float result = rounded<F, kRounding>(inputs...);
    if constexpr (!kFtz || F::kEnlarge[0] == 0) return result;
    const bool small = too_small<F, kRounding>(std::index_sequence_for<Inputs...>(), inputs...);
    return small ? float_of(bits_of(result) & kSignBit) : result;
  };
  return finish<kFtz, kSat>(apply(flush_if<kFtz>(given)...));
}

template <class F, Rounding kRounding, bool kFtz, bool kSat = false>
void scalar(Warp& warp, const Op& op) {
  const auto f = [](auto... inputs) { return compute<F, kRounding, kFtz, kSat>(inputs...); };
  if constexpr (F::kInputs == 1) map_lanes<float, float>(warp, op.d, f, op.a);
  if constexpr (F::kInputs == 2) map_lanes<float, float, float>(warp, op.d, f, op.a, op.b);
  if constexpr (F::kInputs == 3) map_lanes<float, float, float, float>(warp, op.d, f, op.a, op.b, op.c);
}

/// f32x2: a row of 32 pairs is one of 64 floats.
template <class F, Rounding kRounding, bool kFtz>
void packed(Warp& warp, const Op& op) {
  const auto floats = [&](Slot slot) {
    return reinterpret_cast<const float*>(source<std::uint64_t>(warp, slot));
  };
  const float *a = floats(op.a), *b = floats(op.b);
  alignas(64) std::uint64_t values[kLanes];
  float* out = reinterpret_cast<float*>(values);
  if constexpr (F::kInputs == 3) {
    const float* c = floats(op.c);
#pragma GCC ivdep
    for (int i = 0; i < 2 * kLanes; ++i) out[i] = compute<F, kRounding, kFtz, false>(a[i], b[i], c[i]);
  } else {
#pragma GCC ivdep
    for (int i = 0; i < 2 * kLanes; ++i) out[i] = compute<F, kRounding, kFtz, false>(a[i], b[i]);
  }
  write_lanes(warp, destination<std::uint64_t>(warp, op.d), values);
}

/// The first four values of Rounding are those of arithmetic: index is rounding * 4 + ftz * 2 + sat.
template <class F, std::size_t... kIndex>
constexpr std::array<Handler, 16> scalar_handlers(std::index_sequence<kIndex...>) {
  return {scalar < F, static_cast<Rounding>(kIndex / 4), (kIndex & 2) != 0,
          F::kSaturates && (kIndex & 1) != 0 > ...};
}
/// Index is rounding * 2 + ftz.
template <class F, std::size_t... kIndex>
constexpr std::array<Handler, 8> packed_handlers(std::index_sequence<kIndex...>) {
  return {packed<F, static_cast<Rounding>(kIndex / 2), (kIndex & 1) != 0>...};
}
template <class F>
constexpr std::array<Handler, 16> kScalar = scalar_handlers<F>(std::make_index_sequence<16>{});
template <class F>
constexpr std::array<Handler, 8> kPacked = packed_handlers<F>(std::make_index_sequence<8>{});

template <class F>
Op lower_packed(Lowering& lowering) {
  if constexpr (!F::kPacks) {
    Lowering::unsupported("type f32x2");
  } else {
    lowering.accept_modifiers({"rn", "rz", "rm", "rp", "ftz"});
    const auto index = static_cast<std::size_t>(rounding_of(lowering)) * 2 + (lowering.has("ftz") ? 1 : 0);
    const Op op = lower_operands(lowering, kPacked<F>[index], Type::f32x2, F::kInputs);
    lowering.classify(InstructionClass::fp32, 2 * F::kFlops, Type::f32);
    return op;
  }
}

template <class F>
std::optional<Op> lower_arithmetic(Lowering& lowering) {
  const std::optional<Type> type = wide_float_type(lowering);
  if (!type) return std::nullopt;
  if (*type == Type::f64) return F::kLowerF64(lowering);
  if (*type == Type::f32x2) return lower_packed<F>(lowering);
  lowering.accept_modifiers({"rn", "rz", "rm", "rp", "ftz", F::kSaturates ? "sat" : "ftz"});
  const auto index = static_cast<std::size_t>(rounding_of(lowering)) * 4 + (lowering.has("ftz") ? 2u : 0u) +
                     (lowering.has("sat") ? 1u : 0u);
  const Op op = lower_operands(lowering, kScalar<F>[index], Type::f32, F::kInputs);
  lowering.classify(InstructionClass::fp32, F::kFlops, Type::f32);
  return op;
}

/// .approx of rcp and sqrt is in special_ops.cpp.
template <class F>
std::optional<Op> lower_rounded(Lowering& lowering) {
  if (lowering.has("approx")) return std::nullopt;
  return lower_arithmetic<F>(lowering);
}

std::optional<Op> lower_div(Lowering& lowering) {
  if (!lowering.has("approx") && !lowering.has("full")) return lower_arithmetic<Div>(lowering);
  if (wide_float_type(lowering) != Type::f32) Lowering::unsupported("an approximate quotient of this type");
  lowering.accept_modifiers({"approx", "full", "ftz"});
  const bool ftz = lowering.has("ftz");
  // .full may be off by 2 ulp for any operands: the nearest float is as good as any.
  Handler run = ftz ? scalar<Div, Rounding::nearest_even, true> : scalar<Div, Rounding::nearest_even, false>;
  if (lowering.has("approx"))
    run = ftz ? scalar<DivApprox, Rounding::nearest_even, true>
              : scalar<DivApprox, Rounding::nearest_even, false>;
  const Op op = lower_operands(lowering, run, Type::f32, 2);
  lowering.classify(InstructionClass::fp32, Div::kFlops, Type::f32);
  return op;
}

}  // namespace

std::span<const Mnemonic> float_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"add", lower_arithmetic<Add>}, {"sub", lower_arithmetic<Sub>}, {"mul", lower_arithmetic<Mul>},
      {"fma", lower_arithmetic<Fma>}, {"mad", lower_arithmetic<Fma>}, {"div", lower_div},
      {"rcp", lower_rounded<Rcp>},    {"sqrt", lower_rounded<Sqrt>},  {"min", lower_float_min},
      {"max", lower_float_max},       {"abs", lower_float_abs},       {"neg", lower_float_neg},
      {"copysign", lower_copysign},   {"testp", lower_testp},
  };
  return kMnemonics;
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"
#include "emulator/numbers/rounding.h"
#include "emulator/numbers/small_floats.h"
#include "emulator/numbers/special_functions.h"

namespace ak::emulator {
namespace {

using Function = float (*)(float);

// 1 ulp are allowed to rcp, 2^-23 to sqrt and 2^-22.9 to rsqrt (PTX ISA 9.0). The host's correctly rounded
// operations vectorise; the two roundings of rsqrt are at most 2^-23 together. They have the manual's special
// values by themselves.
float reciprocal(float x) { return 1.0f / x; }
float root(float x) { return std::sqrt(x); }
float reciprocal_root(float x) { return 1.0f / std::sqrt(x); }

template <Function kFunction, bool kFtz>
void on_f32(Warp& warp, const Op& op) {
  map_lanes<float, float>(
      warp, op.d, [](float a) { return finish<kFtz>(kFunction(flush_if<kFtz>(a))); }, op.a);
}

/// The results have more than enough bits to be rounded to halves. Inlined by force: a call in the loop over
/// lanes would keep it from being vectorised.
template <Function kFunction>
[[gnu::always_inline]] inline std::uint32_t of_f16(std::uint32_t code) {
  return float_to_f16(kFunction(f16_to_float(code)));
}
template <Function kFunction>
[[gnu::always_inline]] inline std::uint32_t of_bf16(std::uint32_t code) {
  return float_to_bf16(kFunction(bf16_to_float(code)));
}
/// A bfloat16 is subnormal when it is as a float.
template <Function kFunction>
[[gnu::always_inline]] inline std::uint32_t of_bf16_ftz(std::uint32_t code) {
  const std::uint32_t result = float_to_bf16(kFunction(flush(bf16_to_float(code))));
  return (result & 0x7F80u) == 0 ? result & 0x8000u : result;
}

template <std::uint32_t (*kFunction)(std::uint32_t), bool kPacked>
void on_halves(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a) {
        const std::uint32_t low = kFunction(a & 0xFFFFu);
        return kPacked ? low | kFunction(a >> 16) << 16 : low;
      },
      op.a);
}

double reciprocal_f64(double x) { return 1.0 / x; }
double reciprocal_root_f64(double x) { return 1.0 / std::sqrt(x); }

void rsqrt_f64(Warp& warp, const Op& op) {
  map_lanes<double, double>(
      warp, op.d,
      [](double a) {
        const double result = reciprocal_root_f64(a);
        return a != a ? a + a : result;  // quiet, with its payload
      },
      op.a);
}

/// .approx.ftz.f64: the lower halves of argument and result count as zero, so that a NaN whose payload lies
/// there is an infinity (seen on an H200).
template <double (*kFunction)(double)>
void coarse_f64(Warp& warp, const Op& op) {
  constexpr std::uint64_t kUpper = 0xFFFFFFFF'00000000ull, kSign = 1ull << 63, kExponent = 0x7FFull << 52;
  constexpr std::uint64_t kNan = 0x7FFFFFFF'00000000ull;  // the manual's canonical NaN of these
  map_lanes<double, double>(
      warp, op.d,
      [](double a) {
        const std::uint64_t given = bits_of(a) & kUpper;
        const std::uint64_t input = (given & kExponent) == 0 ? given & kSign : given;
        const double value = kFunction(double_of(input));
        const std::uint64_t rounded = (bits_of(value) + (1ull << 31)) & kUpper;
        const std::uint64_t flushed = (rounded & kExponent) == 0 ? rounded & kSign : rounded;
        return double_of(value != value ? kNan : flushed);
      },
      op.a);
}

/// What a function has in each type; null where PTX does not have it. .ftz must be given where only the
/// handler with it exists.
struct Form {
  Type type = Type::f32;
  Handler plain = nullptr, ftz = nullptr;
};

template <Function kFunction>
constexpr Form kF32Form{Type::f32, on_f32<kFunction, false>, on_f32<kFunction, true>};

constexpr Form kRcpForms[] = {kF32Form<reciprocal>, {Type::f64, nullptr, coarse_f64<reciprocal_f64>}};
constexpr Form kRsqrtForms[] = {kF32Form<reciprocal_root>,
                                {Type::f64, rsqrt_f64, coarse_f64<reciprocal_root_f64>}};
constexpr Form kSqrtForms[] = {kF32Form<root>};
constexpr Form kSinForms[] = {kF32Form<approximate_sin>};
constexpr Form kCosForms[] = {kF32Form<approximate_cos>};
constexpr Form kLg2Forms[] = {kF32Form<approximate_lg2>};
constexpr Form kEx2Forms[] = {kF32Form<approximate_ex2>,
                              {Type::f16, on_halves<of_f16<approximate_ex2>, false>},
                              {Type::f16x2, on_halves<of_f16<approximate_ex2>, true>},
                              {Type::bf16, nullptr, on_halves<of_bf16_ftz<approximate_ex2>, false>},
                              {Type::bf16x2, nullptr, on_halves<of_bf16_ftz<approximate_ex2>, true>}};
constexpr Form kTanhForms[] = {{Type::f32, on_f32<approximate_tanh, false>},
                               {Type::f16, on_halves<of_f16<approximate_tanh>, false>},
                               {Type::f16x2, on_halves<of_f16<approximate_tanh>, true>},
                               {Type::bf16, on_halves<of_bf16<approximate_tanh>, false>},
                               {Type::bf16x2, on_halves<of_bf16<approximate_tanh>, true>}};

Handler handler_of(const Lowering& lowering, std::span<const Form> forms, Type type) {
  for (const Form& form : forms) {
    if (form.type != type) continue;
    const Handler run = lowering.has("ftz") ? form.ftz : form.plain;
    if (run == nullptr) Lowering::unsupported(lowering.has("ftz") ? "modifier .ftz" : "no .ftz");
    return run;
  }
  Lowering::unsupported("type " + std::string(to_string(type)));
}

std::uint32_t results_of(Type type) { return type == Type::f16x2 || type == Type::bf16x2 ? 2 : 1; }

/// rcp and sqrt without .approx are in float_ops.cpp; the others are always approximate.
std::optional<Op> lower_special(Lowering& lowering, std::span<const Form> forms) {
  if (!lowering.has("approx")) return std::nullopt;
  lowering.accept_modifiers({"approx", "ftz"});
  if (lowering.operand_count() != 2) Lowering::unsupported("this number of operands");
  const Type type = lowering.type();
  Op op;
  op.run = handler_of(lowering, forms, type);
  op.d = lowering.destination(lowering.operand(0), type);
  op.a = lowering.source(lowering.operand(1), type);
  lowering.classify(InstructionClass::special_function, results_of(type), type);
  return op;
}

std::optional<Op> lower_rcp(Lowering& lowering) { return lower_special(lowering, kRcpForms); }
std::optional<Op> lower_rsqrt(Lowering& lowering) { return lower_special(lowering, kRsqrtForms); }
std::optional<Op> lower_sqrt(Lowering& lowering) { return lower_special(lowering, kSqrtForms); }
std::optional<Op> lower_sin(Lowering& lowering) { return lower_special(lowering, kSinForms); }
std::optional<Op> lower_cos(Lowering& lowering) { return lower_special(lowering, kCosForms); }
std::optional<Op> lower_lg2(Lowering& lowering) { return lower_special(lowering, kLg2Forms); }
std::optional<Op> lower_ex2(Lowering& lowering) { return lower_special(lowering, kEx2Forms); }
std::optional<Op> lower_tanh(Lowering& lowering) { return lower_special(lowering, kTanhForms); }

}  // namespace

std::span<const Mnemonic> special_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"rcp", lower_rcp}, {"rsqrt", lower_rsqrt}, {"sqrt", lower_sqrt}, {"sin", lower_sin},
      {"cos", lower_cos}, {"lg2", lower_lg2},     {"ex2", lower_ex2},   {"tanh", lower_tanh},
  };
  return kMnemonics;
}

}  // namespace ak::emulator

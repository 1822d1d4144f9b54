// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/half_ops.h"

#include <cmath>
#include <string>

#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"
#include "emulator/numbers/rounded_sums.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {
namespace {

// Arithmetic on f16, bf16 and pairs of them. Each operation computes in float and rounds again, which
// gives what a single rounding would: a float has more than twice the bits of a half and two, enough for sums
// and products (Figueroa, "When is double rounding innocuous?", 1995), and fma rounds its float to odd.

// Op::aux of the handlers.
constexpr std::uint32_t kFtz = 1, kSat = 2, kRelu = 4, kNan = 8, kXorsign = 16;

struct F16 {
  static constexpr std::uint32_t kInfinity = 0x7C00u;
  static float decode(std::uint32_t code) { return f16_to_float(code); }
  static std::uint32_t encode(float value) { return float_to_f16(value); }
  static float fma(float a, float b, float c) {
    return sum_to_odd(a * b, c);  // a product has 22 bits and is at least 2^-48: exact
  }
};
struct Bf16 {
  static constexpr std::uint32_t kInfinity = 0x7F80u;
  static float decode(std::uint32_t code) { return bf16_to_float(code); }
  static std::uint32_t encode(float value) { return float_to_bf16(value); }
  static float fma(float a, float b, float c) { return fma_to_odd(a, b, c); }
};

struct Add {
  static constexpr MixedOperation kMixed = MixedOperation::add;
  template <class H>
  static float of(float a, float b) {
    return a + b;
  }
};
struct Sub {
  static constexpr MixedOperation kMixed = MixedOperation::sub;
  template <class H>
  static float of(float a, float b) {
    return a - b;
  }
};
struct Mul {
  template <class H>
  static float of(float a, float b) {
    return a * b;
  }
};
struct Fma {
  template <class H>
  static float of(float a, float b, float c) {
    return H::fma(a, b, c);
  }
};

/// A subnormal code becomes a zero of its sign.
template <class H>
std::uint32_t flush(std::uint32_t code) {
  return (code & H::kInfinity) == 0 ? code & 0x8000u : code;
}

/// .relu and .sat, on the result before its last rounding: that is monotone and keeps 0 and 1.
inline float clamp(float value, std::uint32_t flags) {
  const float positive = value > 0.0f ? value : 0.0f;
  if ((flags & kRelu) != 0) value = value != value ? value : positive;  // NaN stays
  if ((flags & kSat) != 0) value = positive < 1.0f ? positive : 1.0f;   // NaN became 0
  return value;
}

/// What is below 2^-14 when rounded to 11 bits becomes a zero of its sign (seen on an H200), though the half
/// nearest to it may be normal: subnormal halves are coarser.
inline float flush_result(float value) {
  return std::abs(value) < 0x1p-14f - 0x1p-26f ? std::copysign(0.0f, value) : value;
}

template <class H, class F, bool kPlain, class... Codes>
std::uint32_t compute(std::uint32_t flags, Codes... codes) {
  if constexpr (kPlain) return H::encode(F::template of<H>(H::decode(codes)...));
  const bool ftz = (flags & kFtz) != 0;
  const float value = F::template of<H>(H::decode(ftz ? flush<H>(codes) : codes)...);
  const float clamped = clamp(value, flags);
  return H::encode(ftz ? flush_result(clamped) : clamped);
}

/// f on the halves of 32-bit lanes: both, or the lower one.
template <bool kPacked, class F, class... Words>
std::uint32_t on_halves(F f, Words... words) {
  const std::uint32_t low = f((words & 0xFFFFu)...);
  if constexpr (kPacked) return low | f((words >> 16)...) << 16;
  return low;
}

template <class H, class F, bool kPacked, bool kPlain>
void binary(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [flags](std::uint32_t a, std::uint32_t b) {
        return on_halves<kPacked>(
            [flags](std::uint32_t x, std::uint32_t y) { return compute<H, F, kPlain>(flags, x, y); }, a, b);
      },
      op.a, op.b);
}

template <class H, bool kPacked, bool kPlain>
void fused(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [flags](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return on_halves<kPacked>(
            [flags](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
              return compute<H, Fma, kPlain>(flags, x, y, z);
            },
            a, b, c);
      },
      op.a, op.b, op.c);
}

/// Order of the codes as numbers, -0 below +0.
inline std::int32_t key_of(std::uint32_t code) {
  const std::int32_t magnitude = static_cast<std::int32_t>(code & 0x7FFFu);
  return (code & 0x8000u) != 0 ? -1 - magnitude : magnitude;
}

template <class H, bool kMax>
std::uint32_t extreme_of(std::uint32_t a, std::uint32_t b, std::uint32_t flags) {
  if ((flags & kFtz) != 0) {
    a = flush<H>(a);
    b = flush<H>(b);
  }
  const std::uint32_t sign = (flags & kXorsign) != 0 ? (a ^ b) & 0x8000u : 0u;
  const std::uint32_t kept = (flags & kXorsign) != 0 ? 0x7FFFu : 0xFFFFu;
  a &= kept;
  b &= kept;
  const bool nan_a = (a & 0x7FFFu) > H::kInfinity, nan_b = (b & 0x7FFFu) > H::kInfinity;
  std::uint32_t result = (key_of(a) > key_of(b)) == kMax ? a : b;
  result = nan_a ? b : result;
  result = (nan_b ? a : result) | sign;
  const bool nan = (flags & kNan) != 0 ? nan_a | nan_b : nan_a & nan_b;
  return nan ? kCanonicalHalfNan : result;
}

template <class H, bool kMax, bool kPacked>
void extreme(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [flags](std::uint32_t a, std::uint32_t b) {
        return on_halves<kPacked>(
            [flags](std::uint32_t x, std::uint32_t y) { return extreme_of<H, kMax>(x, y, flags); }, a, b);
      },
      op.a, op.b);
}

/// neg and abs change the sign bit only, of NaNs too.
template <class H, bool kAbs, bool kPacked>
void change_sign(Warp& warp, const Op& op) {
  const bool ftz = (op.aux & kFtz) != 0;
  map_lanes<std::uint32_t, std::uint32_t>(
      warp, op.d,
      [ftz](std::uint32_t a) {
        return on_halves<kPacked>(
            [ftz](std::uint32_t code) {
              const std::uint32_t flushed = ftz ? flush<H>(code) : code;
              return kAbs ? flushed & 0x7FFFu : flushed ^ 0x8000u;
            },
            a);
      },
      op.a);
}

/// Handlers of one operation: [bf16][packed][plain].
using Handlers = Handler[2][2][2];
template <class F>
constexpr Handlers kBinary = {{{binary<F16, F, false, false>, binary<F16, F, false, true>},
                               {binary<F16, F, true, false>, binary<F16, F, true, true>}},
                              {{binary<Bf16, F, false, false>, binary<Bf16, F, false, true>},
                               {binary<Bf16, F, true, false>, binary<Bf16, F, true, true>}}};
constexpr Handlers kFused = {
    {{fused<F16, false, false>, fused<F16, false, true>}, {fused<F16, true, false>, fused<F16, true, true>}},
    {{fused<Bf16, false, false>, fused<Bf16, false, true>},
     {fused<Bf16, true, false>, fused<Bf16, true, true>}}};
/// [bf16][packed].
using SimpleHandlers = Handler[2][2];
template <bool kMax>
constexpr SimpleHandlers kExtreme = {{extreme<F16, kMax, false>, extreme<F16, kMax, true>},
                                     {extreme<Bf16, kMax, false>, extreme<Bf16, kMax, true>}};
template <bool kAbs>
constexpr SimpleHandlers kSign = {{change_sign<F16, kAbs, false>, change_sign<F16, kAbs, true>},
                                  {change_sign<Bf16, kAbs, false>, change_sign<Bf16, kAbs, true>}};

bool is_bfloat(Type type) { return type == Type::bf16 || type == Type::bf16x2; }
bool is_packed(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

/// The half type an instruction computes in; nothing when it is not for this family.
std::optional<Type> half_type(const Lowering& lowering) {
  for (const Type type : {Type::f16, Type::f16x2, Type::bf16, Type::bf16x2})
    if (lowering.has(to_string(type))) return type;
  return std::nullopt;
}

std::uint32_t flags_of(const Lowering& lowering) {
  std::uint32_t flags = 0;
  if (lowering.has("ftz")) flags |= kFtz;
  if (lowering.has("sat")) flags |= kSat;
  if (lowering.has("relu")) flags |= kRelu;
  if (lowering.has("NaN")) flags |= kNan;
  if (lowering.has("xorsign")) flags |= kXorsign;
  return flags;
}

/// d and sources of an instruction with `sources` operands of one half type.
Op half_op(Lowering& lowering, Type type, std::size_t sources) {
  if (lowering.type() != type || lowering.has("f32")) Lowering::unsupported("a mix of types");
  if (lowering.operand_count() != sources + 1) Lowering::unsupported("this number of operands");
  if (is_bfloat(type) && (lowering.has("ftz") || lowering.has("sat")))
    Lowering::unsupported("modifier .ftz or .sat with " + std::string(to_string(type)));
  Op op;
  op.aux = flags_of(lowering);
  op.d = lowering.destination(lowering.operand(0), type);
  op.a = lowering.source(lowering.operand(1), type);
  if (sources > 1) op.b = lowering.source(lowering.operand(2), type);
  if (sources > 2) op.c = lowering.source(lowering.operand(3), type);
  return op;
}

void classify(Lowering& lowering, Type type, std::uint32_t flops) {
  lowering.classify(InstructionClass::fp16, is_packed(type) ? 2 * flops : flops,
                    is_bfloat(type) ? Type::bf16 : Type::f16);
}

template <class F>
std::optional<Op> lower_binary(Lowering& lowering) {
  const std::optional<Type> type = half_type(lowering);
  if (!type) return std::nullopt;
  if constexpr (requires { F::kMixed; })
    if (lowering.has("f32")) return lower_mixed(lowering, F::kMixed, *type);
  lowering.accept_modifiers({"rn", "ftz", "sat"});
  Op op = half_op(lowering, *type, 2);
  op.run = kBinary<F>[is_bfloat(*type)][is_packed(*type)][op.aux == 0];
  classify(lowering, *type, 1);
  return op;
}

std::optional<Op> lower_fma(Lowering& lowering) {
  const std::optional<Type> type = half_type(lowering);
  if (!type) return std::nullopt;
  if (lowering.has("f32")) return lower_mixed(lowering, MixedOperation::fma, *type);
  lowering.accept_modifiers({"rn", "ftz", "sat", "relu"});
  if (!lowering.has("rn")) Lowering::unsupported("fma without .rn");
  if (lowering.has("sat") && lowering.has("relu")) Lowering::unsupported("modifiers .sat and .relu together");
  Op op = half_op(lowering, *type, 3);
  op.run = kFused[is_bfloat(*type)][is_packed(*type)][op.aux == 0];
  classify(lowering, *type, 2);
  return op;
}

template <bool kMax>
std::optional<Op> lower_extreme(Lowering& lowering) {
  const std::optional<Type> type = half_type(lowering);
  if (!type) return std::nullopt;
  lowering.accept_modifiers({"ftz", "NaN", "xorsign", "abs"});
  if (lowering.has("xorsign") != lowering.has("abs"))
    Lowering::unsupported("modifiers .xorsign and .abs apart");
  Op op = half_op(lowering, *type, 2);
  op.run = kExtreme<kMax>[is_bfloat(*type)][is_packed(*type)];
  classify(lowering, *type, 0);
  return op;
}

template <bool kAbs>
std::optional<Op> lower_sign(Lowering& lowering) {
  const std::optional<Type> type = half_type(lowering);
  if (!type) return std::nullopt;
  lowering.accept_modifiers({"ftz"});
  Op op = half_op(lowering, *type, 1);
  op.run = kSign<kAbs>[is_bfloat(*type)][is_packed(*type)];
  classify(lowering, *type, 0);
  return op;
}

}  // namespace

std::span<const Mnemonic> half_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"add", lower_binary<Add>}, {"sub", lower_binary<Sub>},    {"mul", lower_binary<Mul>},
      {"fma", lower_fma},         {"min", lower_extreme<false>}, {"max", lower_extreme<true>},
      {"neg", lower_sign<false>}, {"abs", lower_sign<true>},
  };
  return kMnemonics;
}

}  // namespace ak::emulator

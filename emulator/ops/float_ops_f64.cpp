// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cfenv>
#include <cmath>
#include <utility>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/rounding.h"
#include "emulator/ops/float_ops.h"

namespace ak::emulator {
namespace {

struct Add {
  static constexpr std::size_t kInputs = 2;
  static constexpr std::uint32_t kFlops = 1;
  static double of(double a, double b) { return a + b; }
};
struct Sub : Add {
  static double of(double a, double b) { return a - b; }
};
struct Mul : Add {
  static double of(double a, double b) { return a * b; }
};
struct Div : Add {
  static double of(double a, double b) { return a / b; }
};
struct Fma {
  static constexpr std::size_t kInputs = 3;
  static constexpr std::uint32_t kFlops = 2;
  static double of(double a, double b, double c) { return std::fma(a, b, c); }
};
struct Rcp {
  static constexpr std::size_t kInputs = 1;
  static constexpr std::uint32_t kFlops = 1;
  static double of(double a) { return 1.0 / a; }
};
struct Sqrt : Rcp {
  static double of(double a) { return std::sqrt(a); }
};

/// A result that is NaN because an input was: PTX keeps the payload of an f64 NaN. Which one of several is
/// not written down; here it is the first one's, whatever order the compiler gave the operands. A NaN that an
/// operation makes (0 / 0) stays what the host makes.
template <class... Rest>
double keep_payload(double result, double a, Rest... rest) {
  constexpr std::uint64_t kQuiet = 1ull << 51;
  if constexpr (sizeof...(rest) != 0) result = keep_payload(result, rest...);
  return a != a ? double_of(bits_of(a) | kQuiet) : result;
}

template <class F>
void nearest(Warp& warp, const Op& op) {
  const auto f = [](auto... inputs) { return keep_payload(F::of(inputs...), inputs...); };
  if constexpr (F::kInputs == 1) map_lanes<double, double>(warp, op.d, f, op.a);
  if constexpr (F::kInputs == 2) map_lanes<double, double, double>(warp, op.d, f, op.a, op.b);
  if constexpr (F::kInputs == 3) map_lanes<double, double, double, double>(warp, op.d, f, op.a, op.b, op.c);
}

/// The host's rounding mode, while it lives.
class HostRounding {
 public:
  explicit HostRounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~HostRounding() { std::fesetround(before_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  int before_;
};

/// F::of where the compiler can neither fold it nor move it out of the scope of a HostRounding: its inputs
/// come from volatile memory and its result goes there, and those accesses stay between the calls.
template <class F, class... Inputs>
double in_host_rounding(Inputs... inputs) {
  const volatile double fixed[] = {inputs...};
  volatile double result = 0;
  if constexpr (F::kInputs == 1) result = F::of(fixed[0]);
  if constexpr (F::kInputs == 2) result = F::of(fixed[0], fixed[1]);
  if constexpr (F::kInputs == 3) result = F::of(fixed[0], fixed[1], fixed[2]);
  return result;
}

template <class F>
void directed(Warp& warp, const Op& op) {
  const double* a = source<double>(warp, op.a);
  const double* b = source<double>(warp, F::kInputs > 1 ? op.b : op.a);
  const double* c = source<double>(warp, F::kInputs > 2 ? op.c : op.a);
  alignas(64) double values[kLanes];
  {
    const HostRounding mode(static_cast<int>(op.aux));
    for (int i = 0; i < kLanes; ++i) values[i] = in_host_rounding<F>(a[i], b[i], c[i]);
  }
  for (int i = 0; i < kLanes; ++i) {
    if constexpr (F::kInputs == 1) values[i] = keep_payload(values[i], a[i]);
    if constexpr (F::kInputs == 2) values[i] = keep_payload(values[i], a[i], b[i]);
    if constexpr (F::kInputs == 3) values[i] = keep_payload(values[i], a[i], b[i], c[i]);
  }
  write_lanes(warp, destination<double>(warp, op.d), values);
}

int host_mode(Rounding rounding) {
  if (rounding == Rounding::toward_zero) return FE_TOWARDZERO;
  return rounding == Rounding::down ? FE_DOWNWARD : FE_UPWARD;
}

template <class F>
Op lower_f64(Lowering& lowering) {
  lowering.accept_modifiers({"rn", "rz", "rm", "rp"});
  const Rounding rounding = rounding_of(lowering);
  const bool to_nearest = rounding == Rounding::nearest_even;
  Op op = lower_operands(lowering, to_nearest ? nearest<F> : directed<F>, Type::f64, F::kInputs);
  if (!to_nearest) op.aux = static_cast<std::uint32_t>(host_mode(rounding));
  lowering.classify(InstructionClass::fp64, F::kFlops, Type::f64);
  return op;
}

}  // namespace

std::optional<Op> lower_f64_add(Lowering& lowering) { return lower_f64<Add>(lowering); }
std::optional<Op> lower_f64_sub(Lowering& lowering) { return lower_f64<Sub>(lowering); }
std::optional<Op> lower_f64_mul(Lowering& lowering) { return lower_f64<Mul>(lowering); }
std::optional<Op> lower_f64_fma(Lowering& lowering) { return lower_f64<Fma>(lowering); }
std::optional<Op> lower_f64_div(Lowering& lowering) { return lower_f64<Div>(lowering); }
std::optional<Op> lower_f64_rcp(Lowering& lowering) { return lower_f64<Rcp>(lowering); }
std::optional<Op> lower_f64_sqrt(Lowering& lowering) { return lower_f64<Sqrt>(lowering); }

}  // namespace ak::emulator

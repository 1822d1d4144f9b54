// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's math library keep the error bounds that the CUDA C++ Programming Guide gives.
#include <cmath>
#include <limits>

#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

/// Units in the last place between `got` and the exact number rounded; infinite when one alone is NaN.
template <class T, class Wide>
double ulps(T got, Wide exact) {
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(exact);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) return 0;
  if (std::isnan(got) || std::isnan(rounded)) return std::numeric_limits<double>::infinity();
  const auto finite = [](T value) {
    if (!std::isinf(value)) return static_cast<long double>(value);
    return std::copysign(std::ldexp(1.0L, Limits::max_exponent), static_cast<long double>(value));
  };
  const long double to = finite(rounded);
  const int exponent =
      to == 0 ? Limits::min_exponent - 1 : std::max(std::ilogb(to), Limits::min_exponent - 1);
  return static_cast<double>(std::fabs(finite(got) - to) / std::ldexp(1.0L, exponent - Limits::digits + 1));
}

template <class Wide>
struct MathFunction {
  const char* name;
  Wide (*host)(Wide, Wide);
  double bound;
};

// clang-format off
#define FUNCTION(device, on_host, ulp_bound)                                  \
  {#device, [](W x, W y) { static_cast<void>(y); return static_cast<W>(on_host); }, ulp_bound},
const std::vector<MathFunction<double>>& float_functions() {
  using E = float;
  using W = double;
  static const std::vector<MathFunction<W>> functions{
#include "tests/emulator/cuda/float_functions.inc"
  };
  return functions;
}
const std::vector<MathFunction<long double>>& double_functions() {
  using E = double;
  using W = long double;
  static const std::vector<MathFunction<W>> functions{
#include "tests/emulator/cuda/double_functions.inc"
  };
  return functions;
}
#undef FUNCTION
// clang-format on

template <class T>
struct Inputs {
  std::vector<T> x, y;
};

/// Every pair of special values, ordinary numbers, and numbers of every size.
template <class T>
Inputs<T> inputs() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special{0,
                               T{-0.0},
                               1,
                               -1,
                               T{0.5},
                               -2,
                               3,
                               Limits::infinity(),
                               -Limits::infinity(),
                               Limits::quiet_NaN(),
                               Limits::denorm_min(),
                               Limits::min(),
                               Limits::max(),
                               static_cast<T>(1e-3),
                               T{-88.5},
                               T{1e6}};
  Inputs<T> in;
  for (const T x : special) {
    for (const T y : special) {
      in.x.push_back(x);
      in.y.push_back(y);
    }
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> near(-12, 12);
  std::uniform_real_distribution<double> size(Limits::min_exponent - 10, Limits::max_exponent);
  for (int i = 0; i < 384; ++i) {
    in.x.push_back(static_cast<T>(near(random)));
    in.y.push_back(static_cast<T>(near(random)));
  }
  for (int i = 0; i < 384; ++i) {
    const T sign = i % 2 == 0 ? T{1} : T{-1};
    in.x.push_back(sign * static_cast<T>(std::exp2(static_cast<long double>(size(random)))));
    in.y.push_back(
        static_cast<T>(i % 3 == 0 ? std::exp2(static_cast<long double>(size(random))) : near(random)));
  }
  return in;
}

template <class T, class Wide>
void check_functions(const std::string& kernel, const std::vector<MathFunction<Wide>>& functions, Arch arch) {
  const Inputs<T> in = inputs<T>();
  const std::size_t n = in.x.size();
  CudaProgram program = library_kernel("math_functions.cu", kernel, arch);
  LaunchRequest request;
  request.block = {128, 1, 1};
  request.grid = {static_cast<std::uint32_t>((n + 127) / 128), 1, 1};
  const auto out = program.memory(functions.size() * n * sizeof(T));
  program.argument(program.upload(in.x))
      .argument(program.upload(in.y))
      .argument(static_cast<int>(n))
      .argument(out);
  program.launch_cleanly(request);
  const auto got = program.download<T>(out, functions.size() * n);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double error = ulps(got[f * n + i], functions[f].host(in.x[i], in.y[i]));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    INFO(functions[f].name << " for x = " << in.x[at] << ", y = " << in.y[at] << ": " << got[f * n + at]
                           << " and not " << static_cast<T>(functions[f].host(in.x[at], in.y[at])));
    CHECK(worst <= functions[f].bound);
  }
}

}  // namespace

TEST_CASE("functions of floats keep their error bounds") {
  check_functions<float>("float_functions", float_functions(), {9, 0, 'a'});
}

TEST_CASE("functions of doubles keep their error bounds") {
  check_functions<double>("double_functions", double_functions(), {9, 0, 'a'});
}

TEST_CASE("functions of floats keep their error bounds as other devices compute them") {
  check_functions<float>("float_functions", float_functions(), {7, 5, 0});
}

}  // namespace ak::emulator::test

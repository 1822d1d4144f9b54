// SPDX-License-Identifier: Apache-2.0
// CUDA's functions on packed bytes and halves, built by NVRTC, against the host's own arithmetic.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/emulator/programs/cuda_program.h"

namespace ak::emulator::test {
namespace {

constexpr const char* kBytes = R"cuda(
extern "C" __global__ void k(const unsigned* a, const unsigned* b, unsigned* out) {
  const int i = threadIdx.x;
  out += 6 * i;
  out[0] = __vabsdiffu4(a[i], b[i]);
  out[1] = __vsadu4(a[i], b[i]);
  out[2] = __vabsdiffs4(a[i], b[i]);
  out[3] = __vsadu2(a[i], b[i]);
  out[4] = __vaddss4(a[i], b[i]);
  out[5] = __vavgs2(a[i], b[i]);
}
)cuda";

constexpr const char* kHalves = R"cuda(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T2>
__device__ void compare(T2 a, T2 b, unsigned* to) {
  auto* pairs = reinterpret_cast<T2*>(to);
  pairs[0] = __heq2(a, b);
  pairs[1] = __hgtu2(a, b);
  to[2] = __hle2_mask(a, b);
  pairs[3] = __hisnan2(a);
  to[4] = __hbeq2(a, b);
  to[5] = __hbgt2(a, b);
  to[6] = __hbneu2(a, b);
}
extern "C" __global__ void k(const __half2* a, const __half2* b, unsigned* out) {
  const int i = threadIdx.x;
  compare(a[i], b[i], out + 14 * i);
  compare(__floats2bfloat162_rn(__low2float(a[i]), __high2float(a[i])),
          __floats2bfloat162_rn(__low2float(b[i]), __high2float(b[i])), out + 14 * i + 7);
}
extern "C" __global__ void functions(const __half2* a, float2* out) {
  const int i = threadIdx.x;
  out[4 * i] = __half22float2(h2exp(a[i]));
  out[4 * i + 1] = __half22float2(h2log2(__habs2(a[i])));
  out[4 * i + 2] = __half22float2(h2sin(a[i]));
  out[4 * i + 3] = __half22float2(h2cos(a[i]));
}
)cuda";

constexpr std::uint32_t kIntrinsicThreads = 64;

LaunchRequest block_of_intrinsics() {
  LaunchRequest request;
  request.block = {kIntrinsicThreads, 1, 1};
  return request;
}

std::vector<std::uint32_t> any_words(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> words(kIntrinsicThreads);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
  return words;
}

/// f of each element of `bits` bits of two words, as numbers; the sum or the elements in place.
template <class F>
std::uint32_t by_element(std::uint32_t a, std::uint32_t b, int bits, bool is_signed, bool sum, F f) {
  std::uint32_t result = 0;
  const std::uint32_t all = (1u << bits) - 1;
  for (int at = 0; at < 32; at += bits) {
    const auto value = [&](std::uint32_t word) {
      const int number = static_cast<int>(word >> at & all);
      return is_signed && number > static_cast<int>(all / 2) ? number - static_cast<int>(all) - 1 : number;
    };
    const auto element = static_cast<std::uint32_t>(f(value(a), value(b))) & (sum ? ~0u : all);
    result += sum ? element : element << at;
  }
  return result;
}

/// What the seven comparisons give for two pairs of numbers; `one`: the code of 1.0.
std::vector<std::uint32_t> comparisons(const float (&a)[2], const float (&b)[2], std::uint32_t one) {
  const auto pair = [&](auto holds, std::uint32_t yes) {
    return (holds(a[0], b[0]) ? yes : 0) | (holds(a[1], b[1]) ? yes << 16 : 0);
  };
  const auto both = [&](auto holds) { return std::uint32_t{holds(a[0], b[0]) && holds(a[1], b[1])}; };
  const auto unordered = [](float x, float y) { return std::isnan(x) || std::isnan(y); };
  return {pair([](float x, float y) { return x == y; }, one),
          pair([&](float x, float y) { return x > y || unordered(x, y); }, one),
          pair([](float x, float y) { return x <= y; }, 0xFFFFu),
          pair([](float x, float) { return std::isnan(x); }, one),
          both([](float x, float y) { return x == y; }),
          both([](float x, float y) { return x > y; }),
          both([&](float x, float y) { return x != y || unordered(x, y); })};
}

/// A half and the number it stands for, equal in bf16.
struct Half {
  std::uint32_t code;
  float value;
};
const Half kHalfValues[] = {{0x0000, 0.0f},     {0x8000, -0.0f},     {0x3C00, 1.0f},
                            {0xBC00, -1.0f},    {0x4000, 2.0f},      {0xC200, -3.0f},
                            {0x7C00, INFINITY}, {0xFC00, -INFINITY}, {0x7E00, std::nanf("")}};
const Half& value_of(std::uint32_t i) { return kHalfValues[i % std::size(kHalfValues)]; }

}  // namespace

TEST_CASE("functions on packed bytes and halves of integers give what they are defined to") {
  CudaProgram program(kBytes, "k");
  const auto a = any_words(1), b = any_words(2);
  const std::uint64_t out = program.memory(6 * kIntrinsicThreads * 4);
  program.argument(program.upload(a)).argument(program.upload(b)).argument(out);
  static_cast<void>(program.launch_cleanly(block_of_intrinsics()));
  const auto got = program.download<std::uint32_t>(out, 6 * kIntrinsicThreads);
  const auto distance = [](int x, int y) { return std::abs(x - y); };
  for (std::size_t i = 0; i < kIntrinsicThreads; ++i) {
    INFO(i);
    CHECK(got[6 * i] == by_element(a[i], b[i], 8, false, false, distance));
    CHECK(got[6 * i + 1] == by_element(a[i], b[i], 8, false, true, distance));
    CHECK(got[6 * i + 2] == by_element(a[i], b[i], 8, true, false, distance));
    CHECK(got[6 * i + 3] == by_element(a[i], b[i], 16, false, true, distance));
    CHECK(got[6 * i + 4] ==
          by_element(a[i], b[i], 8, true, false, [](int x, int y) { return std::clamp(x + y, -128, 127); }));
    // Halves are rounded away from zero.
    CHECK(got[6 * i + 5] == by_element(a[i], b[i], 16, true, false,
                                       [](int x, int y) { return (x + y + (x + y >= 0 ? 1 : 0)) >> 1; }));
  }
}

TEST_CASE("comparisons of packed halves treat both halves, zeros and NaN as numbers do") {
  for (const Arch arch : {Arch{8, 0, 0}, Arch{9, 0, 'a'}}) {
    CudaProgram program(kHalves, "k", arch);
    std::vector<std::uint32_t> a, b;
    for (std::uint32_t i = 0; i < kIntrinsicThreads; ++i) {
      a.push_back(value_of(i).code | value_of(i / 9).code << 16);
      b.push_back(value_of(i / 9).code | value_of(i / 3).code << 16);
    }
    const std::uint64_t out = program.memory(14 * kIntrinsicThreads * 4);
    program.argument(program.upload(a)).argument(program.upload(b)).argument(out);
    static_cast<void>(program.launch_cleanly(block_of_intrinsics()));
    const auto got = program.download<std::uint32_t>(out, 14 * kIntrinsicThreads);
    for (std::uint32_t i = 0; i < kIntrinsicThreads; ++i) {
      CAPTURE(i, arch.sm());
      const float x[] = {value_of(i).value, value_of(i / 9).value};
      const float y[] = {value_of(i / 9).value, value_of(i / 3).value};
      const auto from = got.begin() + 14 * static_cast<std::ptrdiff_t>(i);
      CHECK(std::vector<std::uint32_t>(from, from + 7) == comparisons(x, y, 0x3C00));
      CHECK(std::vector<std::uint32_t>(from + 7, from + 14) == comparisons(x, y, 0x3F80));
    }
  }
}

TEST_CASE("functions of packed halves run and stay within a unit of the last place") {
  CudaProgram program(kHalves, "functions");
  std::vector<std::uint32_t> a(kIntrinsicThreads, 0x40003800u);  // 0.5 and 2
  const std::uint64_t out = program.memory(8 * kIntrinsicThreads * 4);
  program.argument(program.upload(a)).argument(out);
  static_cast<void>(program.launch_cleanly(block_of_intrinsics()));
  const auto got = program.download<float>(out, 8);
  const float x[] = {0.5f, 2.0f};
  for (std::size_t half = 0; half < 2; ++half) {
    const float expected[] = {std::exp(x[half]), std::log2(x[half]), std::sin(x[half]), std::cos(x[half])};
    for (std::size_t f = 0; f < 4; ++f) {
      CAPTURE(half, f);
      CHECK(std::abs(got[2 * f + half] - expected[f]) <= std::abs(expected[f]) / 512);
    }
  }
}

}  // namespace ak::emulator::test

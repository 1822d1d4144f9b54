// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>

#include "tests/benchmarks/emulator_work.h"

namespace ak::benchmark {
namespace {

constexpr std::size_t kRows = 64, kRowLanes = 32;
struct alignas(64) Row {
  float lanes[kRowLanes];
};

// Not inlined, so that rows are read and written as registers of an emulated warp are.
[[gnu::noinline]] void fma_row(Row& d, const Row& a, const Row& b, const Row& c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < kRowLanes; ++i) d.lanes[i] = std::fma(a.lanes[i], b.lanes[i], c.lanes[i]);
}

}  // namespace

double toy_loop_rate(int rounds) {
  static Row rows[kRows];
  const double start_ns = thread_time_ns();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kRows; ++i)
      fma_row(rows[i], rows[(i + 1) % kRows], rows[(i + 2) % kRows], rows[(i + 3) % kRows]);
  }
  return static_cast<double>(rounds) * kRows * kRowLanes / (thread_time_ns() - start_ns) * 1e9;
}

}  // namespace ak::benchmark

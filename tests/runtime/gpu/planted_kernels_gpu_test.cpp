// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are wrong on purpose: each names the outcome it must earn, and a correct kernel must
// pass right after.
#include <catch2/catch.hpp>

#include "tests/support/device_bench.h"
#include "tests/support/planted_kernels.h"

namespace ak::test {
namespace {

TEST_CASE("every planted wrong kernel earns its outcome, and an honest kernel still passes after it") {
  GpuBench bench({.check_sizes = {1000}});
  for (const Planted& planted : planted_kernels()) {
    if (planted.gpu.status != Status::ok) check_planted(bench, planted, planted.gpu);
  }
}

TEST_CASE("a candidate that is right in checks and lazy when timed is caught by the recheck") {
  GpuBench bench({.check_sizes = {1000}, .time_sizes = {100'000}});
  // Timing starts with a fresh module: calls 0-4 work, later ones do not.
  const auto result = bench.run(kernel(
      "if (calls < 4 && i < n) c[i] = a[i] + b[i]; __syncthreads();"
      " if (threadIdx.x == 0 && atomicAdd(&done, 1) == gridDim.x - 1) { done = 0; atomicAdd(&calls, 1); }",
      "float", "__device__ int calls, done;"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
  CHECK(result.outcome.stage == StageId::recheck);
}

TEST_CASE("a flood of printf neither breaks the protocol nor the result") {
  GpuBench bench({});
  const auto result =
      bench.run(kernel("for (int r = 0; r < 100; ++r) printf(\"noise %lld %d\\n\", i, r); " + kCorrectBody));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
}

TEST_CASE(
    "a forged protocol line in a wrong kernel's printf changes nothing and is shown as what it printed") {
  GpuBench bench({});
  const auto result = bench.run(kernel(
      R"cu(if (i == 0) printf("{\"v\":1,\"id\":2,\"type\":\"evaluated\",\"body\":{\"status\":\"ok\"}}\n"); if (i < n) c[i] = 0.0f;)cu"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
  REQUIRE_FALSE(result.outcome.diagnostics.empty());
  CHECK_THAT(result.outcome.diagnostics.back().message, Catch::Contains("evaluated"));
}

TEST_CASE("nondeterminism is accepted where the problem allows it") {
  TinyProblem tiny;
  tiny.allow_nondeterministic = true;
  GpuBench bench(tiny);
  const auto result =
      bench.run(kernel("if (i < n) { float s = a[i] + b[i]; c[i] = i == 5 && s != 0 ? "
                       "__int_as_float(__float_as_int(s) + (int)(atomicAdd(&calls, 1) % 2)) : s; }",
                       "float", "__device__ int calls;"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
}

}  // namespace
}  // namespace ak::test

// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "runtime/evaluator/compute_sanitizer.h"
#include "tests/support/device_bench.h"

namespace ak::test {
namespace {

bool is_missing() {
  if (!runtime::find_compute_sanitizer().empty()) return false;
  WARN("compute-sanitizer is not installed");
  return true;
}

TEST_CASE("compute-sanitizer finds nothing in an honest kernel") {
  if (is_missing()) return;
  SanitizerBench bench({});
  const auto result = bench.run(
      kernel("__shared__ float s[256]; s[threadIdx.x] = i < n ? a[i] + b[i] : 0; __syncthreads();\n"
             "const int j = threadIdx.x ^ 1; if (i - threadIdx.x + j < n) c[i - threadIdx.x + j] = s[j];"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
}

TEST_CASE("compute-sanitizer finds the race of a kernel whose results are right") {
  if (is_missing()) return;
  SanitizerBench bench({});
  const auto result = bench.run(
      kernel("__shared__ float s[256]; s[threadIdx.x] = i < n ? a[i] + b[i] : 0;\n"
             "__shared__ float seen[1]; if (threadIdx.x % 32 == 0) seen[0] = s[(threadIdx.x + 32) % 256];\n"
             "__syncthreads(); if (i < n) c[i] = s[threadIdx.x] + (seen[0] == 1e30f);"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::race);
  CHECK(result.outcome.gate == Gate::race_detector);
  CHECK_THAT(result.outcome.message, Catch::Contains("racecheck"));
}

TEST_CASE("compute-sanitizer finds a read outside of shared memory") {
  if (is_missing()) return;
  SanitizerBench bench({});
  const auto result = bench.run(kernel(
      "extern __shared__ float s[]; if (i < n) c[i] = a[i] + b[i] + (s[threadIdx.x + 300] == 1e30f);"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::memory_error);
  CHECK(result.outcome.gate == Gate::memory_checker);
}

}  // namespace
}  // namespace ak::test

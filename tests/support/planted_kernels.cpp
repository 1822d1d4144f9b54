// SPDX-License-Identifier: Apache-2.0
#include "tests/support/planted_kernels.h"

#include <catch2/catch.hpp>

namespace ak::test {
namespace {

std::string correct_with(const std::string& defect) { return kernel(kCorrectBody + " " + defect); }

const std::string kLargeSharedPlan =
    R"json({"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "shared_bytes": "SHARED_BYTES_PER_BLOCK + 1024",
          "args": ["a", "b", "c", {"i64": "N"}]}]})json";
const std::string kNarrowPlan =
    R"json({"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["a", "b", "c", {"i32": "N"}]}]})json";

Planted everywhere(const std::string& name, const std::string& source, const Verdict& verdict) {
  return {name, source, verdict, verdict};
}

std::vector<Planted> wrong_results() {
  return {
      everywhere("off by one", kernel("if (i < n) c[i] = a[i] + b[i == 0 ? 0 : i - 1];"),
                 {Status::incorrect, "c["}),
      everywhere("does not write the tail", kernel("if (i < n - n % 256) c[i] = a[i] + b[i];"),
                 {Status::incorrect, "was never written"}),
      everywhere("writes nothing", kernel(""), {Status::incorrect, "c[0] was never written"}),
      everywhere("gives NaN",
                 kernel("if (i < n) c[i] = i == 777 ? __int_as_float(0x7fc00000) : a[i] + b[i];"),
                 {Status::incorrect, "nan"}),
      everywhere("gives infinity",
                 kernel("if (i < n) c[i] = i == 777 ? __int_as_float(0x7f800000) : a[i] + b[i];"),
                 {Status::incorrect, "inf"}),
      everywhere("returns the answer of other inputs", kernel("if (i < n) c[i] = 0.0f;"),
                 {Status::incorrect}),
      everywhere(
          "a result that depends on chance",
          kernel("if (i < n) { float s = a[i] + b[i]; c[i] = i == 5 ? __int_as_float(__float_as_int(s) + "
                 "(int)(atomicAdd(&calls, 1) % 2)) : s; }",
                 "float", "__device__ int calls;"),
          {Status::nondeterministic, "two calls on the same inputs differ"}),
      everywhere(
          "is right only in the first call",
          kernel("__shared__ int call; if (threadIdx.x == 0) call = atomicAdd(&calls, 0); __syncthreads();"
                 " if (i < n) c[i] = call == 0 ? a[i] + b[i] : 0.0f; if (threadIdx.x == 0 && "
                 "atomicAdd(&done, 1) == gridDim.x - 1) { atomicExch(&done, 0); atomicAdd(&calls, 1); }",
                 "float", "__device__ int calls, done;"),
          {Status::incorrect, "second call"}),
  };
}

std::vector<Planted> wrong_memory() {
  return {
      {"writes beyond the end",
       kernel("if (i <= n) c[i] = i < n ? a[i] + b[i] : 1.0f;"),
       {Status::memory_error, "beyond the end of output 'c'"},
       {Status::memory_error, "output 'c'"}},
      {"writes before the start",
       correct_with("if (i == 0) c[-1] = 1.0f;"),
       {Status::memory_error, "first at byte -4"},
       {Status::memory_error, "output 'c'"}},
      {"writes beyond an input",
       correct_with("if (i == 0) const_cast<float*>(a)[n] = 1.0f;"),
       {Status::memory_error, "input 'a'"},
       {Status::memory_error, "input 'a'"}},
      {"writes its input",
       correct_with("if (i == n - 1) const_cast<float*>(b)[i] += 1.0f;"),
       {Status::integrity_violation, "modified its input 'b'"},
       {Status::memory_error, "input 'b'"}},
      {"reads beyond an input",
       kernel("if (i < n) c[i] = a[i] + b[i] + (a[i + 1] == 12345.0f ? 1.0f : 0.0f);"),
       {},
       {Status::memory_error, "input 'a'"}},
      {"reads its output before writing it",
       kernel("if (i < n) c[i] = a[i] + b[i] + (c[i] == 2.0f ? 1 : 0);"),
       {},
       {Status::memory_error, "output 'c'"}},
      {"reads an illegal address",
       kernel("c[i] = *reinterpret_cast<const float*>(16ull + 4 * i);"),
       {Status::memory_error, "CUDA_ERROR_ILLEGAL_ADDRESS"},
       {Status::memory_error}},
      {"misaligned access",
       correct_with("if (i == 0) *reinterpret_cast<float4*>(c + 1) = make_float4(0, 0, 0, 0);"),
       {Status::memory_error, "CUDA_ERROR_MISALIGNED_ADDRESS"},
       {Status::memory_error, "aligned"}},
      {"leaves out a barrier",
       kernel("__shared__ float s[256]; s[threadIdx.x] = 0; __syncthreads(); if (i < n) s[threadIdx.x] = "
              "a[i] + b[i];"
              " if (i < n) { const int j = threadIdx.x ^ 64; c[i] = s[j] * 0 + a[i] + b[i]; }"),
       {},
       {Status::race, "shared"}},
  };
}

std::vector<Planted> wrong_ends() {
  const std::string assertion =
      "extern \"C\" __device__ void __assertfail(const char*, const char*, unsigned, const char*, "
      "size_t);";
  return {
      {"never ends",
       kernel("while (stop == 0) {} " + kCorrectBody, "float", "__device__ volatile int stop;"),
       {Status::hang, "did not finish"},
       {Status::hang}},
      everywhere("traps", correct_with("if (i == n - 1) __trap();"), {Status::launch_error}),
      everywhere("a failed assertion",
                 kernel(kCorrectBody + " if (i == 3) __assertfail(\"false\", \"k.cu\", 1, \"k\", 1);",
                        "float", assertion),
                 {Status::launch_error, "assert"}),
      {"too much shared memory",
       kernel("extern __shared__ float s[]; s[threadIdx.x] = 1; " + kCorrectBody),
       {Status::resource_exceeded, "shared memory"},
       {Status::resource_exceeded, "shared memory"},
       kLargeSharedPlan},
      {"a 32-bit argument for a 64-bit parameter",
       kernel(kCorrectBody),
       {Status::invalid_candidate, "args[3] is i32"},
       {Status::invalid_candidate, "args[3] is i32"},
       kNarrowPlan},
  };
}

}  // namespace

std::vector<Planted> planted_kernels() {
  std::vector<Planted> all;
  for (std::vector<Planted> some : {wrong_results(), wrong_memory(), wrong_ends()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

void check_planted(DeviceBench& bench, const Planted& planted, const Verdict& expected) {
  static int round = 0;
  INFO(planted.name);
  const auto result = bench.run(planted.plan, planted.source);
  {
    INFO(describe(result));
    CHECK(to_string(result.outcome.status) == to_string(expected.status));
    CHECK_THAT(result.outcome.message, Catch::Contains(expected.message, Catch::CaseSensitive::No));
  }
  // A different size to look for each time, so that it is not a duplicate of the one before.
  const auto correct =
      bench.run(kernel(fmt::format("if (n == {}) c[0] = 1; {}", 1'000'000 + ++round, kCorrectBody)));
  INFO("afterwards: " << describe(correct));
  CHECK(correct.outcome.status == Status::ok);
}

}  // namespace ak::test

// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are wrong on purpose: each names the outcome it must earn, and an honest kernel must pass
// right after.
#include <catch2/catch.hpp>

#include "tests/runtime/gpu_bench.h"

namespace ak::test {
namespace {

struct Planted {
  const char* name;
  Status status;
  const char* message;  ///< part of the outcome's message
  std::string source;
  std::string plan = elementwise_plan("k");
};

const std::string kHonest = "if (i < n) c[i] = a[i] + b[i];";

std::vector<Planted> planted_kernels() {
  const std::string shared_plan =
      R"json({"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "shared_bytes": "SHARED_BYTES_PER_BLOCK + 1024",
          "args": ["a", "b", "c", {"i64": "N"}]}]})json";
  const std::string narrow_plan =
      R"json({"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["a", "b", "c", {"i32": "N"}]}]})json";
  return {
      {"off by one", Status::incorrect, "c[", kernel("if (i < n) c[i] = a[i] + b[i == 0 ? 0 : i - 1];")},
      {"does not write the tail", Status::incorrect, "was never written",
       kernel("if (i < n - n % 256) c[i] = a[i] + b[i];")},
      {"writes nothing", Status::incorrect, "c[0] was never written", kernel("")},
      {"writes beyond the end", Status::memory_error, "beyond the end of output 'c'",
       kernel("if (i <= n) c[i] = i < n ? a[i] + b[i] : 1.0f;")},
      {"writes before the start", Status::memory_error, "first at byte -4",
       kernel(kHonest + " if (i == 0) c[-1] = 1.0f;")},
      {"writes beyond an input", Status::memory_error, "input 'a'",
       kernel(kHonest + " if (i == 0) const_cast<float*>(a)[n] = 1.0f;")},
      {"writes its input", Status::integrity_violation, "modified its input 'b'",
       kernel(kHonest + " if (i == n - 1) const_cast<float*>(b)[i] += 1.0f;")},
      {"gives NaN", Status::incorrect, "nan",
       kernel("if (i < n) c[i] = i == 777 ? __int_as_float(0x7fc00000) : a[i] + b[i];")},
      {"gives infinity", Status::incorrect, "inf",
       kernel("if (i < n) c[i] = i == 777 ? __int_as_float(0x7f800000) : a[i] + b[i];")},
      {"never ends", Status::hang, "did not finish",
       kernel("while (stop == 0) {} " + kHonest, "float", "__device__ volatile int stop;")},
      {"reads an illegal address", Status::memory_error, "CUDA_ERROR_ILLEGAL_ADDRESS",
       kernel("c[i] = *reinterpret_cast<const float*>(16ull + 4 * i);")},
      {"traps", Status::launch_error, "CUDA_ERROR", kernel(kHonest + " if (i == n - 1) __trap();")},
      {"a failed assertion", Status::launch_error, "assert",
       kernel(kHonest + " if (i == 3) __assertfail(\"false\", \"k.cu\", 1, \"k\", 1);", "float",
              "extern \"C\" __device__ void __assertfail(const char*, const char*, unsigned, const char*, "
              "size_t);")},
      {"misaligned access", Status::memory_error, "CUDA_ERROR_MISALIGNED_ADDRESS",
       kernel(kHonest + " if (i == 0) *reinterpret_cast<float4*>(c + 1) = make_float4(0, 0, 0, 0);")},
      {"is right only in the first call", Status::incorrect, "second call",
       kernel("__shared__ int call; if (threadIdx.x == 0) call = calls; __syncthreads();"
              " if (i < n) c[i] = call == 0 ? a[i] + b[i] : 0.0f; if (threadIdx.x == 0 && atomicAdd(&done, "
              "1) == gridDim.x - 1) { done = 0; calls = call + 1; }",
              "float", "__device__ int calls, done;")},
      {"a result that depends on chance", Status::nondeterministic, "two calls on the same inputs differ",
       kernel("if (i < n) { float s = a[i] + b[i]; c[i] = i == 5 ? __int_as_float(__float_as_int(s) + "
              "(int)(atomicAdd(&calls, 1) % 2)) : s; }",
              "float", "__device__ int calls;")},
      {"too much shared memory", Status::resource_exceeded, "shared memory",
       kernel("extern __shared__ float s[]; s[threadIdx.x] = 1; " + kHonest), shared_plan},
      {"a 32-bit argument for a 64-bit parameter", Status::invalid_candidate, "argument 3 is i32",
       kernel(kHonest), narrow_plan},
      {"returns the answer of other inputs", Status::incorrect, "", kernel("if (i < n) c[i] = 0.0f;")},
  };
}

TEST_CASE("every planted wrong kernel earns its outcome, and an honest kernel still passes after it") {
  GpuBench bench({.check_sizes = {1000}});
  int round = 0;
  for (const Planted& planted : planted_kernels()) {
    INFO(planted.name);
    const auto result = bench.run(planted.plan, planted.source);
    {
      INFO(describe(result));
      CHECK(to_string(result.outcome.status) == to_string(planted.status));
      CHECK_THAT(result.outcome.message, Catch::Contains(planted.message, Catch::CaseSensitive::No));
    }
    // A different size to look for each time, so that it is no duplicate of the one before.
    const auto honest =
        bench.run(kernel(fmt::format("if (n == {}) c[0] = 1; {}", 1'000'000 + ++round, kHonest)));
    INFO("afterwards: " << describe(honest));
    CHECK(honest.outcome.status == Status::ok);
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
      bench.run(kernel("for (int r = 0; r < 100; ++r) printf(\"noise %lld %d\\n\", i, r); " + kHonest));
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

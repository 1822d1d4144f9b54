// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <thread>

#include "runtime/process/device_lock.h"
#include "tests/support/device_bench.h"

namespace ak::test {
namespace {

TEST_CASE("a correct kernel passes for every kind of element") {
  struct Case {
    DType dtype;
    const char* body;
  };
  const std::vector<Case> cases{
      {DType::float64, "if (i < n) c[i] = a[i] + b[i];"},
      {DType::float32, "if (i < n) c[i] = a[i] + b[i];"},
      {DType::float16, "if (i < n) c[i] = __float2half(__half2float(a[i]) + __half2float(b[i]));"},
      {DType::bfloat16,
       "if (i < n) c[i] = __float2bfloat16(__bfloat162float(a[i]) + __bfloat162float(b[i]));"},
      {DType::int64, "if (i < n) c[i] = a[i] + b[i];"},
      {DType::int32, "if (i < n) c[i] = a[i] + b[i];"},
      {DType::int16, "if (i < n) c[i] = static_cast<short>(a[i] + b[i]);"},
      {DType::int8, "if (i < n) c[i] = static_cast<signed char>(a[i] + b[i]);"},
  };
  for (const Case& one : cases) {
    TinyProblem tiny;
    tiny.dtype = one.dtype;
    GpuBench bench(tiny);
    const auto result = bench.run(kernel(one.body, std::string(info(one.dtype).cuda_type)));
    INFO(info(one.dtype).name << ": " << describe(result));
    CHECK(result.outcome.status == Status::ok);
    CHECK(result.checks.size() == 4);  // two workloads, two distributions, one output
  }
}

TEST_CASE("one integer wrong by one is incorrect") {
  TinyProblem tiny;
  tiny.dtype = DType::int32;
  GpuBench bench(tiny);
  const auto result = bench.run(kernel("if (i < n) c[i] = a[i] + b[i] + (i == 900);", "int"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
  CHECK_THAT(result.outcome.message, Catch::Contains("c[900]"));
}

TEST_CASE("results of 11 bits where fp32 was honest are refused by how they are made, and by their error") {
  TinyProblem tiny;
  tiny.expression = "a[i] * b[i] + a[i]";
  GpuBench bench(tiny);
  const auto cut = bench.run(
      kernel("if (i < n) c[i] = __uint_as_float(__float_as_uint(a[i] * b[i] + a[i]) & 0xffffe000u);"));
  INFO(describe(cut));
  CHECK(cut.outcome.gate == Gate::precision);
  const auto result = bench.run(kernel("if (i < n) c[i] = (a[i] * b[i] + a[i]) * (1 + 1 / 2048.0f);"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
}

TEST_CASE("dynamic shared memory over 48 KiB works") {
  GpuBench bench({});
  const std::string plan =
      R"json({"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "shared_bytes": 98304,
                                   "args": ["a", "b", "c", {"i64": "N"}]}]})json";
  const auto result = bench.run(
      plan, kernel("extern __shared__ float s[]; s[24000 + threadIdx.x] = i < n ? a[i] : 0; __syncthreads();"
                   " if (i < n) c[i] = s[24000 + threadIdx.x] + b[i];"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
}

TEST_CASE("several launches share workspace, which is zeroed before each sequence where the plan says so") {
  GpuBench bench({});
  const std::string plan =
      R"json({"workspace": [{"name": "sums", "dtype": "float32", "count": "N", "init": "zero"}],
    "launches": [{"kernel": "first", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["a", "sums", {"i64": "N"}]},
                 {"kernel": "first", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["b", "sums", {"i64": "N"}]},
                 {"kernel": "second", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["sums", "c", {"i64": "N"}]}]})json";
  const std::string source =
      "extern \"C\" __global__ void first(const float* x, float* sums, long long n) {\n"
      "  const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) sums[i] += x[i]; }\n"
      "extern \"C\" __global__ void second(const float* sums, float* c, long long n) {\n"
      "  const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) c[i] = sums[i]; }\n";
  const auto result = bench.run(plan, source);
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
}

TEST_CASE("workspace that a candidate expects to be zero without saying so holds poison") {
  GpuBench bench({});
  const std::string plan =
      R"json({"workspace": [{"name": "w", "dtype": "float32", "count": "N", "init": "none"}],
    "launches": [{"kernel": "f", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["a", "b", "w", "c", {"i64": "N"}]}]})json";
  const auto result = bench.run(
      plan,
      "extern \"C\" __global__ void f(const float* a, const float* b, float* w, float* c, long long n) {\n"
      "  const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) c[i] = a[i] + b[i] + w[i]; }\n");
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
}

TEST_CASE("an output may share its input's memory where the problem says so") {
  TinyProblem tiny;
  tiny.in_place = true;
  tiny.time_sizes = {100'000};
  GpuBench bench(tiny);
  const std::string plan =
      R"json({"launches": [{"kernel": "f", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["b", "c", {"i64": "N"}]}]})json";
  const auto result =
      bench.run(plan,
                "extern \"C\" __global__ void f(const float* b, float* c, long long n) {\n"
                "  const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) c[i] += b[i]; }\n");
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
  CHECK(result.score_ns);
}

TEST_CASE("of a candidate that works in place the second call leaves the other inputs alone, too") {
  TinyProblem tiny;
  tiny.in_place = true;
  GpuBench bench(tiny);
  const std::string plan =
      R"json({"launches": [{"kernel": "f", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["b", "c", {"i64": "N"}]}]})json";
  const auto result = bench.run(plan,
                                "__device__ int calls;\n"
                                "extern \"C\" __global__ void f(float* b, float* c, long long n) {\n"
                                "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
                                "  if (i < n) c[i] += b[i];\n"
                                "  if (i == 0 && calls++ == 1) b[0] = 7;\n}\n",
                                Depth::check);
  INFO(describe(result));
  CHECK(result.outcome.status == Status::integrity_violation);
}

TEST_CASE("the same program a second time is a duplicate with the first one's measurements") {
  TinyProblem tiny;
  tiny.time_sizes = {100'000};
  GpuBench bench(tiny);
  const auto first = bench.run(kernel("if (i < n) c[i] = a[i] + b[i];"));
  INFO(describe(first));
  REQUIRE(first.outcome.status == Status::ok);
  const auto again = bench.run(kernel("// the same\nif (i < n) c[i] = a[i] + b[i];"));
  INFO(describe(again));
  CHECK(again.outcome.status == Status::duplicate);
  CHECK_THAT(again.outcome.message, Catch::Contains("candidate_1"));
  CHECK(again.score_ns == first.score_ns);
}

TEST_CASE(
    "a vector addition of 64 Mi floats runs at 60 to 101 percent of the data sheet's bandwidth, and no "
    "slower than the reference") {
  TinyProblem tiny;
  constexpr std::int64_t kElements = 64 << 20;
  tiny.check_sizes = {1000};
  tiny.time_sizes = {kElements};
  GpuBench bench(tiny, true);
  std::string why;
  const DeviceFacts facts = runtime::probe_devices(self_as_worker(), why).front();
  const std::string plan =
      R"json({"launches": [{"kernel": "f", "grid": ["ceil_div(N, 1024)"], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}]})json";
  const auto result = bench.run(
      plan,
      "extern \"C\" __global__ void f(const float* a, const float* b, float* c, long long n) {\n"
      "  const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);\n"
      "  if (i + 3 < n) {\n    const float4 x = *(const float4*)(a + i), y = *(const float4*)(b + i);\n"
      "    *(float4*)(c + i) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);\n"
      "  } else {\n    for (long long j = i; j < n; ++j) c[j] = a[j] + b[j];\n  }\n}\n");
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE(result.measurements.size() == 2);
  const Measurement& own = result.measurements[0];
  CHECK(own.role == MeasurementRole::candidate);
  CHECK(own.samples_ns.size() >= 10);
  CHECK(own.ci_low_ns <= own.median_ns);
  CHECK(own.median_ns <= own.ci_high_ns);
  const double gbps = 3.0 * 4 * kElements / own.median_ns;
  INFO(gbps << " GB/s of " << facts.peak_bandwidth().per_nanosecond());
  CHECK(gbps > 0.60 * facts.peak_bandwidth().per_nanosecond());
  CHECK(gbps < 1.01 * facts.peak_bandwidth().per_nanosecond());
  CHECK(result.measurements[1].role == MeasurementRole::baseline);
  CHECK(result.measurements[1].label == "naive");
  CHECK(own.median_ns < 1.05 * result.measurements[1].median_ns);
}

TEST_CASE("a tiny kernel is timed without the latency of its launch") {
  TinyProblem tiny;
  tiny.time_sizes = {256};
  GpuBench bench(tiny);
  const auto result = bench.run(kernel("if (i < n) c[i] = a[i] + b[i];"));
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE(result.score_ns);
  CHECK(*result.score_ns > 500);
  CHECK(*result.score_ns < 12'000);  // an event pair around a kernel of nothing reads 5-7 us on an H200
}

TEST_CASE("an evaluation waits while another process times on the same GPU, and is none the worse for it") {
  TinyProblem tiny;
  tiny.time_sizes = {100'000};
  GpuBench bench(tiny);
  std::string why;
  runtime::DeviceLock other(runtime::probe_devices(self_as_worker(), why).front().uuid);
  REQUIRE(other.unavailable_reason().empty());
  other.take(runtime::DeviceLock::Turn::alone, [] {});
  const auto start = std::chrono::steady_clock::now();
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    other.release();
  });
  const auto result = bench.run(kernel("if (i < n) c[i] = a[i] + b[i];"));
  holder.join();
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
  const std::chrono::duration<double, std::milli> whole = std::chrono::steady_clock::now() - start;
  CHECK(whole.count() >= 4'000);
  CHECK(result.stage_times.check_ms <= whole.count() - 4'000);
}

}  // namespace
}  // namespace ak::test

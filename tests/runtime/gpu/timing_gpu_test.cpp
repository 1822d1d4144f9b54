// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "agent/paired_comparison.h"
#include "tests/support/device_bench.h"

namespace ak::test {
namespace {

constexpr std::int64_t kLarge = 16 << 20, kSmall = 4096;
const char* const kCorrect = "if (i < n) c[i] = a[i] + b[i];";

TinyProblem timed(std::int64_t elements) {
  TinyProblem tiny;
  tiny.check_sizes = {1000};
  tiny.time_sizes = {elements};
  return tiny;
}

/// Remembers the sums of the first two inputs it sees, by their addresses, and repeats them afterwards.
std::string replay() {
  return kernel(
      "const int slot = owner[0] == a || owner[0] == nullptr ? 0 : 1;\n"
      "if (i < n) c[i] = ready[slot] && owner[slot] == a ? kept[slot][i] : (kept[slot][i] = a[i] + b[i]);\n"
      "__threadfence();\n"
      "if (threadIdx.x == 0 && atomicAdd(&done, 1) == gridDim.x - 1) { done = 0; owner[slot] = a; "
      "ready[slot] = 1; }",
      "float",
      "__device__ float kept[2][16 << 20]; __device__ const float* owner[2]; __device__ int ready[2]; "
      "__device__ "
      "unsigned done;\n");
}

TEST_CASE("results that a kernel kept from earlier calls are wrong when inputs change from call to call") {
  GpuBench bench(timed(kLarge));
  EvaluationRequest fresh = bench.request(replay());
  fresh.fresh_process = true;
  const auto result = bench.run(std::move(fresh));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
  CHECK(result.outcome.stage == StageId::recheck);
  CHECK_THAT(result.outcome.message, Catch::Contains("in a timed call"));
}

TEST_CASE("a kernel that kept results does not win a comparison") {
  GpuBench bench(timed(kLarge));
  EvaluationRequest pair = bench.request(replay());
  pair.rival = std::make_shared<const Candidate>(bench.request(kernel(kCorrect)).candidate);
  const auto result = bench.run(std::move(pair));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
}

TEST_CASE("a kernel that works in half of its timed calls is found out") {
  GpuBench bench(timed(kLarge));
  const auto result =
      bench.run(kernel("const unsigned call = calls / gridDim.x;\n"
                       "if (i < n && (call < 8 || call % 2 == 0)) c[i] = a[i] + b[i];\n"
                       "__syncthreads(); if (threadIdx.x == 0) atomicAdd(&calls, 1u);",
                       "float", "__device__ unsigned calls;\n"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
}

TEST_CASE("a comparison has as many samples of both, and of a kernel with itself no winner") {
  GpuBench bench(timed(kLarge));
  EvaluationRequest request = bench.request(kernel(kCorrect));
  request.rival = std::make_shared<const Candidate>(request.candidate);
  Completed completed;
  completed.request = request;
  // One in some dozens seems slower than itself after its first pairs, and ends there.
  for (int attempt = 0; attempt < 3; ++attempt) {
    completed.result = bench.run(EvaluationRequest(request));
    INFO(describe(completed.result));
    REQUIRE(completed.result.outcome.status == Status::ok);
    REQUIRE(completed.result.measurements.size() == 2);
    if (!completed.result.measurements[0].truncated) break;
  }
  INFO(describe(completed.result));
  CHECK(completed.result.measurements[0].role == MeasurementRole::candidate);
  CHECK(completed.result.measurements[1].role == MeasurementRole::champion);
  CHECK(completed.result.measurements[0].samples_ns.size() == 64);
  CHECK(completed.result.measurements[1].samples_ns.size() == 64);
  const auto verdict = agent::judge_pairs(completed);
  REQUIRE(verdict);
  INFO(verdict->text());
  CHECK_FALSE(verdict->faster);
  CHECK(verdict->ratio.ratio == Approx(1).epsilon(0.02));
}

TEST_CASE("half the work wins a comparison") {
  GpuBench bench(timed(kLarge));
  EvaluationRequest request = bench.request(kernel(kCorrect));
  request.rival = std::make_shared<const Candidate>(
      bench
          .request(kernel(
              "if (i < n) { float y = a[i]; for (int j = 0; j < 2000; ++j) y = fmaf(y, 0.5f, a[i]); c[i] = "
              "a[i] + b[i] + 0 * y; }"))
          .candidate);
  Completed completed;
  completed.request = request;
  completed.result = bench.run(std::move(request));
  INFO(describe(completed.result));
  const auto verdict = agent::judge_pairs(completed);
  REQUIRE(verdict);
  CHECK(verdict->faster);
}

TEST_CASE("short calls are timed in batches, each call on inputs of its own, long ones one by one") {
  GpuBench small(timed(kSmall));
  const auto result = small.run(kernel(kCorrect));
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE(result.measurements.size() == 1);
  const Measurement& batch = result.measurements[0];
  CHECK(batch.method == "batch");
  CHECK(batch.launches_per_sample >= 18);
  CHECK(batch.launches_per_sample <= 24);
  CHECK(batch.median_ns < 6'000);
  CHECK(batch.samples_ns[0] > 6 * batch.median_ns);  // a sample covers the whole batch
  GpuBench large(timed(kLarge));
  CHECK(large.run(kernel(kCorrect)).measurements[0].method == "event");
}

TEST_CASE("a batch that is served from one call's work is incorrect") {
  GpuBench bench(timed(kSmall));
  const auto result = bench.run(
      kernel("if (i < n) { if (!ready[i]) { kept[i] = a[i] + b[i]; ready[i] = 1; } c[i] = kept[i]; }",
             "float", "__device__ float kept[4096]; __device__ int ready[4096];\n"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::incorrect);
}

TEST_CASE("less time than the hardware can need is below_floor") {
  TinyProblem tiny = timed(kLarge);
  tiny.bytes_read_an_element = 1000;  // of which the kernel moves twelve
  GpuBench bench(tiny);
  const auto result = bench.run(kernel(kCorrect));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::below_floor);
  CHECK_FALSE(result.score_ns);
  CHECK_THAT(result.outcome.message, Catch::Contains("less than the hardware can need"));
}

TEST_CASE("the final measurement says what a call takes of energy, on one workload and after its times") {
  TinyProblem tiny = timed(kLarge);
  tiny.time_sizes = {kLarge, 2 * kLarge};
  GpuBench bench(tiny);
  EvaluationRequest final = bench.request(kernel(kCorrect));
  final.fresh_process = final.energy = true;
  const auto result = bench.run(std::move(final));
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  int asked = 0;
  for (const Measurement& m : result.measurements) {
    if (!m.energy) continue;
    ++asked;
    INFO(m.workload << ": " << m.energy->joule << " J, " << m.energy->power_w << " W, " << m.energy->call_ns
                    << " ns over " << m.energy->calls << " calls; " << m.energy->unavailable_reason);
    CHECK((m.role == MeasurementRole::candidate && m.cold));
    if (!m.energy->unavailable_reason.empty()) {
      WARN(m.energy->unavailable_reason);
      continue;
    }
    CHECK(m.energy->power_w > 20);
    CHECK(m.energy->power_w < 2'000);
    CHECK(m.energy->joule == Approx(m.energy->power_w * m.energy->call_ns * 1e-9));
    CHECK(static_cast<double>(m.energy->calls) * m.energy->call_ns >= 0.99e9);
    // Far more data than the L2 holds. A call alone leaves an L2 of results behind that is not written yet, and its
    // clocks have not come down: back to back, 117 us were 150 us on an H200.
    CHECK(m.energy->call_ns > 0.8 * m.median_ns);
    CHECK(m.energy->call_ns < 1.45 * m.median_ns);
    WARN(m.energy->joule * 1e3 << " mJ a call, " << m.energy->power_w << " W");
  }
  CHECK(asked == 1);
}

TEST_CASE(
    "a kernel that leaves out work when it is called back to back is found by the checks of its energy") {
  GpuBench bench(timed(kLarge));
  EvaluationRequest final = bench.request(kernel(
      "const unsigned call = calls / gridDim.x;\n"
      "const unsigned long long now = nanoseconds(), first = atomicCAS(&began[call % 4096], 0ull, now);\n"
      "const bool pressed = call > 0 && (first ? first : now) - ended[(call - 1) % 4096] < 20000;\n"
      "if (i < n && !pressed) c[i] = a[i] + b[i];\n"
      "__syncthreads();\n"
      "if (threadIdx.x == 0) { began[(call + 1) % 4096] = 0; atomicMax(&ended[call % 4096], nanoseconds()); "
      "__threadfence(); atomicAdd(&calls, 1u); }",
      "float",
      "__device__ unsigned calls; __device__ unsigned long long began[4096], ended[4096];\n"
      "__device__ unsigned long long nanoseconds() { unsigned long long t; "
      "asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t)); return t; }\n"));
  final.fresh_process = final.energy = true;
  const auto result = bench.run(std::move(final));
  INFO(describe(result));
  for (const Measurement& m : result.measurements) {
    if (m.energy)
      UNSCOPED_INFO(m.energy->call_ns << " ns over " << m.energy->calls << " calls; "
                                      << m.energy->unavailable_reason);
  }
  const auto measured = [](const Measurement& m) { return m.energy && m.energy->unavailable_reason.empty(); };
  if (result.outcome.status == Status::ok && std::ranges::none_of(result.measurements, measured)) {
    WARN("this device has no energy counter");
    return;
  }
  CHECK(result.outcome.status == Status::incorrect);
  CHECK_THAT(result.outcome.message, Catch::Contains("back to back"));
}

TEST_CASE("a write far outside a buffer ends the launch") {
  GpuBench bench({.check_sizes = {1000}});
  const auto result = bench.run(kernel("if (i < n) c[i] = a[i] + b[i];\nif (i == 0) c[1ll << 28] = 1;"));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::memory_error);
}

}  // namespace
}  // namespace ak::test

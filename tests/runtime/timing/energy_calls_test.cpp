// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/energy_calls.h"

#include <catch2/catch.hpp>

#include "runtime/timing/energy.h"
#include "tests/support/device_bench.h"
#include "tests/support/timing_bench.h"

namespace ak::test {
namespace {

const char* const kCorrect = "if (i < n) c[i] = a[i] + b[i];";

/// What the checks say after some rounds of calls of 1 ms.
std::optional<Outcome> run_rounds(TimingBench& bench, const std::string& source,
                                  const std::string& plan = elementwise_plan("k")) {
  const auto program = bench.program(source, "n1000", plan);
  const auto target = bench.target(program, "n1000");
  auto created = runtime::EnergyCalls::create(bench.run_context(), bench.store(), target, 1e6);
  REQUIRE(created);
  runtime::EnergyCalls calls = std::move(created).value();
  CHECK(calls.sets() == 4);
  std::uint64_t count = 0;
  for (int round = 0; round < 3; ++round) {
    const auto ran = calls.run_round();
    REQUIRE(ran);
    CHECK(*ran % calls.sets() == 0);
    count += *ran;
  }
  CHECK(count >= 3 * 12);  // 20 ms are five turns, three at least
  std::vector<CheckRecord> records;
  return calls.verify(records);
}

std::string counting(const std::string& body) {
  return kernel("const unsigned call = calls / gridDim.x;\n" + body +
                    "\n__syncthreads(); if (threadIdx.x == 0) atomicAdd(&calls, 1u);",
                "float", "__device__ unsigned calls;\n");
}

TEST_CASE("a correct kernel passes the checks of its calls back to back") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const auto wrong = run_rounds(bench, kernel(kCorrect));
  INFO((wrong ? wrong->message : ""));
  CHECK_FALSE(wrong);
}

TEST_CASE("calls back to back get the scalars of the problem") {
  TimingBench bench(DeviceKind::emulator,
                    {.expression = "a[i] + s * b[i]", .check_sizes = {1000}, .scalars = {2, 3}});
  const auto wrong = run_rounds(
      bench,
      R"cu(extern "C" __global__ void k(const float* a, const float* b, float* c, float s) {
             const int i = blockIdx.x * 256 + threadIdx.x;
             if (i < 1000) c[i] = a[i] + s * b[i];
           })cu",
      R"({"launches": [{"kernel": "k", "grid": [4], "block": [256], "args": ["a", "b", "c", "s"]}]})");
  INFO((wrong ? wrong->message : ""));
  CHECK_FALSE(wrong);
}

TEST_CASE("calls back to back that leave earlier results where they are, or repeat them, are found") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const std::pair<std::string, Gate> cases[] = {
      {counting("if (i < n && call < 8) c[i] = a[i] + b[i];"), Gate::poison},
      {kernel(
           "int slot = 0; while (slot < 7 && owner[slot] != nullptr && owner[slot] != a) ++slot;\n"
           "if (i < n) c[i] = owner[slot] == a ? kept[slot][i] : (kept[slot][i] = a[i] + b[i]);\n"
           "__syncthreads(); if (threadIdx.x == 0 && atomicAdd(&done, 1u) % gridDim.x == gridDim.x - 1) "
           "owner[slot] = a;",
           "float",
           "__device__ float kept[8][1000]; __device__ const float* owner[8]; __device__ unsigned done;\n"),
       Gate::timed_outputs}};
  for (const auto& [source, gate] : cases) {
    const auto wrong = run_rounds(bench, source);
    REQUIRE(wrong);
    CHECK(wrong->status == Status::incorrect);
    CHECK(wrong->gate == gate);
    CHECK_THAT(wrong->message, Catch::Contains("back to back"));
  }
}

TEST_CASE("calls back to back that write their inputs are found") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const auto wrong = run_rounds(
      bench,
      counting("if (i < n) c[i] = a[i] + b[i];\nif (i < n && call > 8) const_cast<float*>(b)[i] = 0;"));
  REQUIRE(wrong);
  CHECK(wrong->gate == Gate::input_hash);
}

TEST_CASE("calls back to back are as slow as a call alone, less what an event pair and warm caches explain") {
  const auto of = [](double call_ns) {
    Energy energy;
    energy.call_ns = call_ns;
    return energy;
  };
  CHECK_FALSE(runtime::implausible(of(95e3), {.cold_ns = 100e3, .warm_ns = 97e3}));
  CHECK_FALSE(runtime::implausible(of(60e3), {.cold_ns = 100e3, .warm_ns = 60e3}));
  CHECK_FALSE(runtime::implausible(of(2e3), {.cold_ns = 6e3, .warm_ns = 5e3}));
  CHECK(runtime::implausible(of(50e3), {.cold_ns = 100e3, .warm_ns = 97e3}));
  Energy absent;
  absent.unavailable_reason = "no counter";
  CHECK_FALSE(runtime::implausible(absent, {.cold_ns = 100e3, .warm_ns = 97e3}));
}

}  // namespace
}  // namespace ak::test

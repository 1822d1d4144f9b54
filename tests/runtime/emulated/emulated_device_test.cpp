// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: everything a candidate goes through on a GPU, through the same code.
#include <catch2/catch.hpp>

#include "emulator/machine/tensor_map_descriptor.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/tensor_map.h"
#include "runtime/emulated/emulated_cost.h"
#include "runtime/emulated/emulated_driver.h"
#include "tests/support/planted_kernels.h"

namespace ak::test {
namespace {

constexpr Arch kHopper{.major = 9, .minor = 0, .feature = 'a'};

TEST_CASE("on the emulator every planted wrong kernel earns its outcome, and an honest one passes after it") {
  EmulatorBench bench({.check_sizes = {1000}});
  for (const Planted& planted : planted_kernels()) check_planted(bench, planted, planted.emulator);
}

TEST_CASE("on the emulator a correct kernel passes for every kind of element") {
  const std::pair<DType, const char*> cases[] = {
      {DType::float64, "if (i < n) c[i] = a[i] + b[i];"},
      {DType::float16, "if (i < n) c[i] = __float2half(__half2float(a[i]) + __half2float(b[i]));"},
      {DType::bfloat16,
       "if (i < n) c[i] = __float2bfloat16(__bfloat162float(a[i]) + __bfloat162float(b[i]));"},
      {DType::int64, "if (i < n) c[i] = a[i] + b[i];"},
      {DType::int8, "if (i < n) c[i] = static_cast<signed char>(a[i] + b[i]);"},
  };
  for (const auto& [dtype, body] : cases) {
    TinyProblem tiny;
    tiny.dtype = dtype;
    EmulatorBench bench(tiny);
    const auto result = bench.run(kernel(body, std::string(info(dtype).cuda_type)));
    INFO(info(dtype).name << ": " << describe(result));
    CHECK(result.outcome.status == Status::ok);
    CHECK(result.checks.size() == 4);  // two workloads, two distributions, one output
  }
}

TEST_CASE("a fault on the emulator names the candidate's file and line") {
  EmulatorBench bench({.check_sizes = {100}});
  const auto result = bench.run(kernel(kCorrectBody + "\nif (i == 0) c[n] = 1.0f;"));
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::memory_error);
  // Three lines of launch plan come before the source, as they do in a file.
  REQUIRE_FALSE(result.outcome.diagnostics.empty());
  CHECK(result.outcome.diagnostics.front().line == 10);
  CHECK_THAT(result.outcome.message, Catch::Contains("candidate_1:10"));
}

TEST_CASE("the emulator gives costs instead of times, the same in every run, and lower ones for less work") {
  TinyProblem tiny;
  tiny.check_sizes = {1000, 20'000};
  EmulatorBench bench(tiny, true), again(tiny);
  const auto plain = bench.run(kernel(kCorrectBody));
  INFO(describe(plain));
  REQUIRE(plain.outcome.status == Status::ok);
  REQUIRE(plain.measurements.size() == 4);  // two workloads, this kernel and the baseline
  for (const Measurement& m : plain.measurements) {
    CHECK(m.method == kEmulatedMethod);
    CHECK(m.median_ns > 0);
  }
  const auto repeated = again.run(kernel(kCorrectBody));
  CHECK(repeated.score_ns == plain.score_ns);
  const auto wasteful = bench.run(kernel(
      "for (int r = 0; r < 50; ++r) { if (i < n) { volatile float* out = c; out[i] = a[i] + b[i]; } }"));
  INFO(describe(wasteful));
  REQUIRE(wasteful.score_ns);
  CHECK(*wasteful.score_ns > 2 * *plain.score_ns);
}

TEST_CASE("the emulator runs the code of other architectures") {
  for (const char* name : {"sm_80", "sm_120a"}) {
    EmulatorBench bench({.check_sizes = {100}});
    const auto result =
        bench.run(elementwise_plan("k"), kernel(kCorrectBody), Depth::check, parse_arch(name).value());
    INFO(name << ": " << describe(result));
    CHECK(result.outcome.status == Status::ok);
  }
}

TEST_CASE("device printf on the emulator is shown with the outcome") {
  EmulatorBench bench({.check_sizes = {10}});
  const auto result =
      bench.run(kernel("if (i == 3) printf(\"i is %lld and %.2f\\n\", i, 1.5); " + kCorrectBody));
  INFO(describe(result));
  CHECK(result.outcome.status == Status::ok);
  REQUIRE_FALSE(result.outcome.diagnostics.empty());
  CHECK_THAT(result.outcome.diagnostics.back().message, Catch::Contains("i is 3 and 1.50"));
}

TEST_CASE("memory that is not mapped is out of a kernel's reach, and its contents survive") {
  runtime::EmulatedDriver driver(kHopper);
  runtime::HiddenBuffer hidden(1000, "hidden");
  CUdeviceptr address = 0;
  {
    const auto mapping = hidden.map();
    address = mapping.address();
    REQUIRE(runtime::driver().cuMemsetD8Async(address, 7, 1000, nullptr) == CUDA_SUCCESS);
  }
  const auto mapping = hidden.map();
  CHECK(mapping.address() == address);
  unsigned char value = 0;
  REQUIRE(runtime::driver().cuMemcpyDtoH(&value, address + 999, 1) == CUDA_SUCCESS);
  CHECK(value == 7);
}

TEST_CASE("the emulated driver refuses what is not PTX with the place") {
  runtime::EmulatedDriver driver(kHopper);
  CHECK_THROWS_WITH(runtime::load_module("this is not PTX", "a test program"),
                    Catch::Contains("CUDA_ERROR_NOT_SUPPORTED") && Catch::Contains("line 1"));
}

TEST_CASE("the emulated driver encodes a tensor map and checks it like the driver") {
  runtime::EmulatedDriver driver(kHopper);
  ResolvedTensorMap map;
  map.name = "m";
  map.tensor = "x";
  map.dtype = DType::float16;
  map.dims = {256, 64};
  map.strides_bytes = {512};
  map.box = {64, 32};
  map.element_strides = {1, 1};
  map.interleave = "none";
  map.swizzle = "128B";
  map.l2_promotion = "none";
  map.oob_fill = "none";
  const runtime::BufferView view{emulator::kGlobalBase, 256 * 64 * 2};
  const auto encoded = runtime::encode_tensor_map(map, view);
  REQUIRE(encoded);
  const auto read = emulator::tensor_map_descriptor(&*encoded);
  REQUIRE(read);
  CHECK(read->rank == 2);
  CHECK(read->size(0) == 256);
  CHECK(read->stride_of(1) == 512);
  CHECK(read->box[1] == 32);
  CHECK(read->swizzle == emulator::TensorSwizzle::b128);
  CHECK(read->element == emulator::TensorElement::float16);
  map.box = {128, 32};  // 256 bytes are too wide for the swizzle
  CHECK_FALSE(runtime::encode_tensor_map(map, view));
  map.box = {64, 32};
  map.strides_bytes = {520};
  CHECK_FALSE(runtime::encode_tensor_map(map, view));
}

TEST_CASE("an emulated cost grows with sectors, bank conflicts and instructions, each for itself") {
  emulator::CounterSummary counts;
  counts.warp_instructions = 1'000;
  counts.by_class.assign(emulator::kInstructionClasses, 0);
  counts.global.requests = 1'000;
  counts.global.sectors = 4'000;
  const runtime::LaunchShape shape{.blocks = 64, .threads = 256, .shared_bytes = 0};
  const double base = runtime::emulated_cost_ns(counts, shape, kHopper);
  auto uncoalesced = counts;
  uncoalesced.global.sectors = 32'000;
  CHECK(runtime::emulated_cost_ns(uncoalesced, shape, kHopper) > 4 * base);
  auto conflicts = counts;
  conflicts.shared.shared_wavefronts = 100'000;
  CHECK(runtime::emulated_cost_ns(conflicts, shape, kHopper) > 5 * base);
  auto instructions = counts;
  instructions.warp_instructions = 1'000'000;
  CHECK(runtime::emulated_cost_ns(instructions, shape, kHopper) > 20 * base);
}

}  // namespace
}  // namespace ak::test

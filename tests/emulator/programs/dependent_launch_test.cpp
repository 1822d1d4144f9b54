// SPDX-License-Identifier: Apache-2.0
// Launches that may begin before the launch before has ended.
#include <catch2/catch.hpp>

#include "tests/emulator/programs/cuda_program.h"

namespace ak::emulator::test {
namespace {

constexpr const char* kSource = R"cuda(
extern "C" __global__ void k(int* values, int waits, int adds_at) {
  asm volatile("griddepcontrol.launch_dependents;");
  if (waits != 0) asm volatile("griddepcontrol.wait;" ::: "memory");
  values[(threadIdx.x + adds_at) & 63] += 1;
}
extern "C" __global__ void atomics(int* values, int waits, int adds_at) {
  asm volatile("griddepcontrol.launch_dependents;");
  atomicAdd(values + ((threadIdx.x + adds_at) & 63), 1);
}
extern "C" __global__ void quiet(int* values, int waits, int adds_at) {
  values[(threadIdx.x + adds_at) & 63] += 1;
}
)cuda";

/// Two launches of a kernel, of which the second may begin early and says whether it waits.
std::vector<std::string> found(const std::string& kernel, int waits, int second_at = 0) {
  CudaProgram program(kSource, kernel, {.major = 9, .minor = 0, .feature = 'a'});
  const std::uint64_t values = program.upload(std::vector<std::int32_t>(128), "values");
  LaunchRequest request;
  request.block = {32, 1, 1};
  const LaunchReport first = program.argument(values).argument(0).argument(0).launch_cleanly(request);
  request.before = first.footprint;
  const LaunchReport second = program.argument(values).argument(waits).argument(second_at).launch(request);
  std::vector<std::string> sentences;
  for (const Finding& finding : second.findings.all())
    sentences.push_back(describe(program.program(), finding, "kernel.cu"));
  return sentences;
}

TEST_CASE("a launch that begins early and touches what the launch before touched must have waited") {
  const auto early = found("k", 0);
  REQUIRE_FALSE(early.empty());
  INFO(early.front());
  CHECK_THAT(early.front(), Catch::Contains("early read") && Catch::Contains("of values"));
  CHECK_THAT(early.front(),
             Catch::Contains("kernel.cu:5") && Catch::Contains("the launch before uses these bytes"));
  CHECK(found("k", 1).empty());
}

TEST_CASE("a launch that begins early may touch other memory, and share atomics") {
  CHECK(found("k", 0, 32).empty());
  CHECK(found("atomics", 0).empty());
}

TEST_CASE("behind a launch that lets none begin early no launch does") { CHECK(found("quiet", 0).empty()); }

}  // namespace
}  // namespace ak::emulator::test

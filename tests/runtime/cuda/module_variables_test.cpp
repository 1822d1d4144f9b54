// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/module_variables.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/timing/variable_watch.h"
#include "tests/support/timing_bench.h"

namespace ak::test {
namespace {

const std::string kWithVariables =
    "extern \"C\" {\n__device__ float table[16]; __device__ int ready[2] = {1, 2}; __constant__ float "
    "scale[4] = {1};\n"
    "__global__ void k(const float* a, const float* b, float* c, long long n) {\n"
    "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
    "  if (i < n) c[i] = a[i] + b[i] + 0 * table[i % 16] * scale[i % 4];\n"
    "  if (i == 0) ready[1] += 1, table[3] = 1;\n}\n}\n";

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

TEST_CASE("the variables of a program are found in its machine code and in its PTX, shared memory is none") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const auto program = bench.program(kWithVariables, "n1000");
  for (const std::string& image : {program.build.cubin, program.build.ptx}) {
    const auto names = runtime::variable_names(image);
    for (const char* name : {"table", "ready", "scale"}) CHECK(has(names, name));
    CHECK_FALSE(has(names, "k"));
  }
  CHECK(runtime::variable_names("neither").empty());
  CHECK(runtime::variable_names("\x7f"
                                "ELF")
            .empty());
}

TEST_CASE("a watch sees a change of any variable of a program, and forgives those that were noted") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const auto program = bench.program(kWithVariables, "n1000");
  const auto variables = program.loaded->variables(program.image);
  REQUIRE(variables.size() >= 3);
  runtime::VariableWatch watch(bench.run_context(), variables);
  CHECK(watch.unchanged());
  for (const runtime::BufferView& variable : variables) {
    REQUIRE(runtime::driver().cuMemsetD8Async(variable.address + variable.bytes - 1, 0x77, 1, nullptr) ==
            CUDA_SUCCESS);
    CHECK_FALSE(watch.unchanged());
    watch.note();
    CHECK(watch.unchanged());
  }
}

}  // namespace
}  // namespace ak::test

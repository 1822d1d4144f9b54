// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/plan/input_draw.h"
#include "core/plan/random_input.h"
#include "runtime/build/compile_pool.h"
#include "runtime/check/harness_kernels.h"
#include "runtime/cuda/device_context.h"
#include "tests/support/host_draws.h"
#include "tests/support/patience.h"
#include "tests/support/tiny_problem.h"

namespace ak::test {
namespace {

std::string harness_cubin(const Arch& arch) {
  std::vector<DType> all;
  for (const DTypeInfo& dtype : dtypes()) all.push_back(dtype.dtype);
  const runtime::HarnessSource harness = runtime::harness_source(all);
  TranslationUnit unit = plain_assembler().plain(harness.file_name, harness.source, arch);
  unit.headers = harness.headers;
  unit.kernels = harness.kernels;
  unit.options.insert(unit.options.end(), harness.options.begin(), harness.options.end());
  runtime::CompilePool pool(
      {.worker_command = self_as_worker(), .workers = 1, .deadline = testing::kPatience, .cache_dir = {}});
  static_cast<void>(pool.submit(unit));
  const auto built = pool.wait(testing::out_of_patience());
  REQUIRE(built);
  INFO(built->result.log);
  REQUIRE(built->result.outcome.status == Status::ok);
  return built->result.cubin;
}

TEST_CASE("inputs drawn on the device and on the host agree bit by bit, for every dtype and kind") {
  constexpr std::int64_t kCount = 100'003;
  const runtime::DeviceContext context(0);
  const runtime::StreamHandle stream = runtime::create_stream();
  const runtime::HarnessKernels kernels(harness_cubin(context.facts().arch), stream.get());
  for (const DTypeInfo& dtype : dtypes()) {
    const std::size_t bytes = static_cast<std::size_t>(kCount) * static_cast<std::size_t>(dtype.bytes);
    const runtime::DeviceBuffer buffer(bytes, "drawn inputs");
    for (int kind = 0; kind <= static_cast<int>(InputKind::single_offsets); ++kind) {
      const InputDraw asked{
          .kind = static_cast<InputKind>(kind), .scale = 3.7f, .shift = 0.25f, .choices = {0, 1, 1}};
      const ak_random::Draw draw = testing::vector_draw(asked, dtype.dtype, kCount);
      const auto key = tensor_key(12'345, "x");
      kernels.fill(buffer.view(), dtype.dtype, key, draw);
      runtime::check(runtime::driver().cuStreamSynchronize(stream.get()), "drawing inputs");
      std::vector<std::byte> device(bytes), host(bytes);
      runtime::check(runtime::driver().cuMemcpyDtoH(device.data(), buffer.address(), bytes),
                     "reading inputs");
      testing::fill_random(host, dtype.dtype, key, draw);
      const auto differs = std::mismatch(device.begin(), device.end(), host.begin());
      INFO(dtype.name << " " << to_string(draw.kind) << ": first difference in element "
                      << (differs.first - device.begin()) / dtype.bytes);
      CHECK(differs.first == device.end());
    }
  }
}

}  // namespace
}  // namespace ak::test

// SPDX-License-Identifier: Apache-2.0
// cp.reduce.async.bulk.tensor, and stores and reductions to global memory that happen later.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/machine/tensor_map_descriptor.h"
#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

constexpr std::uint32_t kReductionThreads = 32, kWidth = 6, kHeight = 4;
constexpr const char* kReductionTile = ".shared .align 128 .b8 tile[128];";

/// A tensor of 4 x 6 words; boxes are 4 x 8, so that the last columns of one at (0, 0) are outside.
std::vector<std::uint64_t> words_of_map(std::uint64_t address, TensorElement element) {
  TensorMapDescriptor map;
  map.magic = TensorMapDescriptor::kMagic;
  map.address = address;
  map.rank = 2;
  map.extent = {kWidth - 1, kHeight - 1, 0, 0, 0};
  map.stride = {kWidth * 4, 0, 0, 0};
  map.box = {8, 4, 1, 1, 1};
  map.element_strides = {1, 1, 1, 1, 1};
  map.element = element;
  std::vector<std::uint64_t> words(sizeof map / 8);
  std::memcpy(words.data(), &map, sizeof map);
  return words;
}

/// Thread i puts i + 1 into the tile; the first one reduces it into the tensor, and then all execute `behind`.
std::string reduction(const std::string& operation, const std::string& behind = "") {
  return "mov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, 4, %r1;\nadd.u32 %r3, %r0, 1;\n"
         "st.shared.u32 [%r2], %r3;\nfence.proxy.async;\nbar.sync 0;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra "
         "JOIN;\n"
         "mov.u32 %r4, 0;\ncp.reduce.async.bulk.tensor.2d.global.shared::cta." +
         operation + ".tile.bulk_group [%rd90, {%r4, %r4}], [%r1];\ncp.async.bulk.commit_group;\nJOIN:\n" +
         behind + "\n@!%p0 cp.async.bulk.wait_group 0;\n";
}

LaunchReport run_reduction(PtxKernel& kernel, std::uint64_t tensor, TensorElement element) {
  LaunchRequest request;
  request.block = {kReductionThreads, 1, 1};
  return kernel.run(request, kernel.upload(words_of_map(tensor, element)));
}

}  // namespace

TEST_CASE("a reduction into a tensor combines what is inside it, element by element") {
  struct Case {
    std::string operation;
    TensorElement element;
    std::uint32_t (*expected)(std::uint32_t old, std::uint32_t sent);
  };
  const Case cases[] = {
      {"add", TensorElement::uint32, [](std::uint32_t old, std::uint32_t sent) { return old + sent; }},
      {"min", TensorElement::int32,
       [](std::uint32_t old, std::uint32_t sent) { return std::min(old, sent); }},
      {"max", TensorElement::uint32,
       [](std::uint32_t old, std::uint32_t sent) { return std::max(old, sent); }},
      {"xor", TensorElement::int32, [](std::uint32_t old, std::uint32_t sent) { return old ^ sent; }},
      {"inc", TensorElement::uint32,
       [](std::uint32_t old, std::uint32_t sent) { return old >= sent ? 0 : old + 1; }}};
  for (const Case& c : cases) {
    INFO(c.operation);
    PtxKernel kernel = PtxKernel::body(reduction(c.operation), 1, kReductionTile);
    const std::uint64_t tensor = kernel.upload(std::vector<std::uint32_t>(kWidth * kHeight, 10));
    kernel.expect_no_findings(run_reduction(kernel, tensor, c.element));
    const auto got = kernel.download<std::uint32_t>(tensor, kWidth * kHeight);
    for (std::uint32_t i = 0; i < got.size(); ++i)
      CHECK(got[i] == c.expected(10, i / kWidth * 8 + i % kWidth + 1));
  }
}

TEST_CASE("the source of a reduction into a tensor must not be overwritten before the wait") {
  PtxKernel kernel =
      PtxKernel::body(reduction("add", "bar.sync 0;\nst.shared.u32 [%r2], %r0;"), 1, kReductionTile);
  const std::uint64_t tensor = kernel.upload(std::vector<std::uint32_t>(kWidth * kHeight, 10));
  const LaunchReport report = run_reduction(kernel, tensor, TensorElement::uint32);
  REQUIRE_FALSE(report.findings.all().empty());
  CHECK(report.findings.all().front().kind == FaultKind::async_pending);
}

TEST_CASE("a reduction that the tensor's elements do not have is a fault") {
  PtxKernel kernel = PtxKernel::body(reduction("min"), 1, kReductionTile);
  const std::uint64_t tensor = kernel.upload(std::vector<float>(kWidth * kHeight, 10));
  const LaunchReport report = run_reduction(kernel, tensor, TensorElement::float32);
  REQUIRE_FALSE(report.findings.all().empty());
  CHECK(report.findings.all().front().kind == FaultKind::invalid_operand);
}

TEST_CASE("asynchronous stores and reductions to global memory release what came before") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x;\nmad.wide.u32 %rd1, %r0, 4, %rd90;\nadd.u32 %r1, %r0, 5;\n"
      "st.async.release.gpu.global.u32 [%rd1], %r1;\n"
      "red.async.release.gpu.global.add.u32 [%rd91], %r1;\n"
      "red.async.mmio.release.sys.global.max.s32 [%rd91+4], %r1;\n",
      2);
  const std::uint64_t out = kernel.memory(kReductionThreads * 4),
                      sums = kernel.upload(std::vector<std::uint32_t>{1, 2});
  kernel.run(1, kReductionThreads, out, sums);
  const auto stored = kernel.download<std::uint32_t>(out, kReductionThreads);
  for (std::uint32_t i = 0; i < kReductionThreads; ++i) CHECK(stored[i] == i + 5);
  CHECK(kernel.download<std::uint32_t>(sums, 2) == std::vector<std::uint32_t>{1 + 31 * 16 + 5 * 32, 36});
}

TEST_CASE("asynchronous accesses of global memory that PTX does not have are refused") {
  for (const std::string text :
       {"st.async.global.u32 [%rd1], %r2;", "st.async.release.gpu.global.v2.u32 [%rd1], {%r2, %r3};",
        "red.async.relaxed.gpu.global.add.u32 [%rd1], %r2;",
        "red.async.release.gpu.global.add.f32 [%rd1], %f2;", "ld.async.global.u32 %r2, [%rd1];",
        "atom.async.release.gpu.global.add.u32 %r1, [%rd1], %r2;",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {%r1}], [%r2];",
        "cp.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1}], [%r2];"}) {
    INFO(text);
    CHECK(refusal(text).status == Status::unsupported);
  }
}

}  // namespace ak::emulator::test

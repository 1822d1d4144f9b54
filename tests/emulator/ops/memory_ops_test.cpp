// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

/// %rd1 = p0 + tid * bytes, %rd2 = p1 + tid * bytes.
std::string by_thread(int bytes, const std::string& instructions) {
  return "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, " + std::to_string(bytes) +
         "; add.s64 %rd1, %rd90, %rd0; add.s64 %rd2, %rd91, %rd0;\n" + instructions;
}

LaunchRequest unchecked(std::uint32_t threads) {
  LaunchRequest request;
  request.block = {threads, 1, 1};
  request.options.check = false;
  return request;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1000u);
  return values;
}

/// Every value of a buffer copied by `threads` threads with one load and one store of `bytes`.
void expect_copy(const std::string& load, const std::string& store, int bytes, std::uint32_t threads) {
  INFO(load << " " << store << " " << threads);
  PtxKernel kernel = PtxKernel::body(by_thread(bytes, load + "\n" + store));
  const std::size_t words = std::size_t{threads} * static_cast<std::size_t>(bytes) / 4;
  const auto input = numbers(words);
  const auto from = kernel.upload(input);
  const auto to = kernel.memory(words * 4);
  kernel.run(1, threads, from, to);
  CHECK(kernel.download<std::uint32_t>(to, words) == input);
}

}  // namespace

TEST_CASE("loads into wider registers extend by the type's sign") {
  struct Case {
    const char *load, *store;
    std::uint64_t expected;
  };
  const auto which =
      GENERATE(Case{"ld.global.s8 %rs0, [%rd90];", "st.global.b16 [%rd91], %rs0;", 0xFFF5},
               Case{"ld.global.u8 %rs0, [%rd90];", "st.global.b16 [%rd91], %rs0;", 0xF5},
               Case{"ld.global.s8 %r0, [%rd90];", "st.global.b32 [%rd91], %r0;", 0xFFFFFFF5},
               Case{"ld.global.s16 %r0, [%rd90];", "st.global.b32 [%rd91], %r0;", 0xFFFFF4F5},
               Case{"ld.global.b16 %r0, [%rd90];", "st.global.b32 [%rd91], %r0;", 0xF4F5},
               Case{"ld.global.s8 %rd0, [%rd90];", "st.global.b64 [%rd91], %rd0;", 0xFFFFFFFFFFFFFFF5},
               Case{"ld.global.s16 %rd0, [%rd90];", "st.global.b64 [%rd91], %rd0;", 0xFFFFFFFFFFFFF4F5},
               Case{"ld.global.s32 %rd0, [%rd90];", "st.global.b64 [%rd91], %rd0;", 0xFFFFFFFFF2F3F4F5},
               Case{"ld.global.u32 %rd0, [%rd90];", "st.global.b64 [%rd91], %rd0;", 0xF2F3F4F5},
               Case{"ld.global.u8 %rd0, [%rd90+3];", "st.global.b64 [%rd91], %rd0;", 0xF2},
               Case{"ld.global.b64 %rd0, [%rd90];", "st.global.b32 [%rd91], %rd0;", 0xF2F3F4F5},
               Case{"ld.global.b32 %r0, [%rd90];", "st.global.b8 [%rd91], %r0;", 0xF5});
  INFO(which.load << " " << which.store);
  PtxKernel kernel = PtxKernel::body(std::string(which.load) + which.store);
  const auto from = kernel.upload<std::uint64_t>({0xF1F2F3F4F2F3F4F5});
  const auto to = kernel.upload<std::uint64_t>({0});
  kernel.run(1, 32, from, to);
  CHECK(kernel.download<std::uint64_t>(to, 1)[0] == which.expected);
}

TEST_CASE("every width and vector copies what lies side by side") {
  const auto threads = GENERATE(1u, 19u, 32u, 64u);
  expect_copy("ld.global.f32 %f0, [%rd1];", "st.global.f32 [%rd2], %f0;", 4, threads);
  expect_copy("ld.global.nc.f64 %fd0, [%rd1];", "st.global.f64 [%rd2], %fd0;", 8, threads);
  expect_copy("ld.global.v2.u16 {%rs0, %rs1}, [%rd1];", "st.global.v2.u16 [%rd2], {%rs0, %rs1};", 4, threads);
  expect_copy("ld.global.v4.u8 {%rs0, %rs1, %rs2, %rs3}, [%rd1];",
              "st.global.v4.u8 [%rd2], {%rs0, %rs1, %rs2, %rs3};", 4, threads);
  expect_copy("ld.v2.b32 {%r0, %r1}, [%rd1];", "st.v2.b32 [%rd2], {%r0, %r1};", 8, threads);
  expect_copy("ld.global.L1::no_allocate.L2::128B.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1];",
              "st.global.cs.v4.f32 [%rd2], {%f0, %f1, %f2, %f3};", 16, threads);
  expect_copy("ld.global.v2.b64 {%rd3, %rd4}, [%rd1];", "st.global.v2.b64 [%rd2], {%rd3, %rd4};", 16,
              threads);
  expect_copy(".reg .b128 %q; ld.global.b128 %q, [%rd1];", "st.global.b128 [%rd2], %q;", 16, threads);
  expect_copy("ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd1];",
              "st.global.v8.b32 [%rd2], {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};", 32, threads);
  expect_copy("ld.global.v4.b64 {%rd3, %rd4, %rd5, %rd6}, [%rd1];",
              "st.global.v4.b64 [%rd2], {%rd3, %rd4, %rd5, %rd6};", 32, threads);
  expect_copy("ld.relaxed.gpu.global.b32 %r0, [%rd1];", "st.volatile.global.b32 [%rd2], %r0;", 4, threads);
  expect_copy("ld.acquire.sys.global.b32 %r0, [%rd1];", "st.release.cta.global.b32 [%rd2], %r0;", 4, threads);
  expect_copy(
      "createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0; "
      "ld.global.L2::cache_hint.b32 %r0, [%rd1], %rd9;",
      "st.global.L2::cache_hint.b32 [%rd2], %r0, %rd9;", 4, threads);
}

TEST_CASE("lanes gather and scatter from addresses of their own") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 12; add.s64 %rd1, %rd90, %rd0;\n"
      "mul.wide.u32 %rd0, %r0, 8; add.s64 %rd2, %rd91, %rd0;\n"
      "ld.global.b32 %r1, [%rd1+4]; ld.global.b32 %r2, [%rd90+8];\n"
      "st.global.v2.b32 [%rd2], {%r1, %r2}; st.global.b32 [%rd92], %r0;",
      3);
  const auto input = numbers(96);
  const auto from = kernel.upload(input);
  const auto to = kernel.memory(32 * 8), last = kernel.memory(4);
  LaunchRequest request = unchecked(32);  // all lanes write one word: a race to the checker
  kernel.expect_no_findings(kernel.run(request, from, to, last));
  const auto output = kernel.download<std::uint32_t>(to, 64);
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(output[2 * i] == input[3 * i + 1]);
    CHECK(output[2 * i + 1] == input[2]);
  }
  CHECK(kernel.download<std::uint32_t>(last, 1)[0] == 31);
}

TEST_CASE("generic addresses reach shared, local and global memory, in one warp as well") {
  // Even threads read back through shared memory, odd ones through local memory.
  PtxKernel kernel = PtxKernel::body(
      by_thread(4,
                ".local .align 4 .b8 mine[64];\n"
                "ld.global.b32 %r1, [%rd1];\n"
                "mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3; add.s64 %rd3, %rd3, %rd0;\n"
                "mov.u64 %rd4, mine; cvta.local.u64 %rd4, %rd4;\n"
                "st.b32 [%rd3], %r1; st.b32 [%rd4+8], %r1;\n"
                "cvta.to.shared.u64 %rd5, %rd3; cvt.u32.u64 %r2, %rd5; ld.shared.b32 %r3, [%r2];\n"
                "ld.local.b32 %r4, [mine+8];\n"
                "add.s64 %rd4, %rd4, 8; and.b32 %r5, %r0, 1; setp.eq.u32 %p0, %r5, 0;\n"
                "selp.b64 %rd6, %rd3, %rd4, %p0; ld.b32 %r6, [%rd6];\n"
                "add.u32 %r7, %r3, %r4; add.u32 %r7, %r7, %r6; st.b32 [%rd2], %r7;"),
      2, ".shared .align 16 .b8 tile[256];");
  const auto input = numbers(64);
  const auto from = kernel.upload(input);
  const auto to = kernel.memory(256);
  kernel.run(1, 64, from, to);
  const auto output = kernel.download<std::uint32_t>(to, 64);
  for (std::size_t i = 0; i < 64; ++i) CHECK(output[i] == 3 * input[i]);
}

TEST_CASE("isspacep tells the windows of generic addresses apart") {
  PtxKernel kernel = PtxKernel::body(
      ".local .b8 mine[16];\n"
      "mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3; mov.u64 %rd4, mine; cvta.local.u64 %rd4, %rd4;\n"
      "isspacep.shared %p0, %rd3; isspacep.shared %p1, %rd4; isspacep.local %p2, %rd4;\n"
      "isspacep.global %p3, %rd90; isspacep.global %p4, %rd3; isspacep.shared::cluster %p5, %rd3;\n"
      "mov.b32 %r0, 0; @%p0 add.u32 %r0, %r0, 1; @%p1 add.u32 %r0, %r0, 2; @%p2 add.u32 %r0, %r0, 4;\n"
      "@%p3 add.u32 %r0, %r0, 8; @%p4 add.u32 %r0, %r0, 16; @%p5 add.u32 %r0, %r0, 32;\n"
      "st.global.b32 [%rd90], %r0;",
      1, ".shared .b8 tile[16];");
  const auto to = kernel.memory(4);
  kernel.run(1, 1, to);
  CHECK(kernel.download<std::uint32_t>(to, 1)[0] == 1 + 4 + 8 + 32);
}

TEST_CASE("parameters and constants are read where they lie") {
  PtxKernel kernel = PtxKernel::body(
      "ld.param.v2.u32 {%r0, %r1}, [p1]; ld.const.u32 %r2, [table+4];\n"
      "mov.u64 %rd1, table; ld.const.u32 %r3, [%rd1];\n"
      "st.global.v4.u32 [%rd90], {%r0, %r1, %r2, %r3};",
      2, ".const .align 4 .u32 table[2] = {7, 9};");
  const auto to = kernel.memory(16);
  kernel.run(1, 1, to, std::uint64_t{0x0000000500000003});
  CHECK(kernel.download<std::uint32_t>(to, 4) == std::vector<std::uint32_t>{3, 5, 9, 7});
}

TEST_CASE("shared memory of another block of the cluster is reached through mapa") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, tile; st.shared.u32 [%r1], %r0;\n"
      "barrier.cluster.arrive; barrier.cluster.wait;\n"
      "xor.b32 %r2, %r0, 1; mapa.shared::cluster.u32 %r3, %r1, %r2;\n"
      "ld.shared::cluster.u32 %r4, [%r3]; getctarank.shared::cluster.u32 %r5, %r3;\n"
      "mul.wide.u32 %rd0, %r0, 8; add.s64 %rd1, %rd90, %rd0; st.global.v2.u32 [%rd1], {%r4, %r5};\n"
      "barrier.cluster.arrive; barrier.cluster.wait;",
      1, ".shared .align 4 .b8 tile[4];");
  const auto to = kernel.memory(16);
  LaunchRequest request;
  request.grid = request.cluster = {2, 1, 1};
  kernel.expect_no_findings(kernel.run(request, to));
  CHECK(kernel.download<std::uint32_t>(to, 4) == std::vector<std::uint32_t>{1, 1, 0, 0});
}

TEST_CASE("faults are found without the checker and touch nothing") {
  struct Case {
    const char* instructions;
    FaultKind kind;
  };
  const auto which =
      GENERATE(Case{"ld.global.b32 %r0, [%rd90+2];", FaultKind::misaligned},
               Case{"ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd90+8];", FaultKind::misaligned},
               Case{"mov.b64 %rd0, 64; ld.global.b32 %r0, [%rd0];", FaultKind::out_of_bounds},
               Case{"mov.b64 %rd0, -8; st.global.b64 [%rd0], %rd90;", FaultKind::out_of_bounds},
               Case{"mov.b64 %rd0, 0x7FFFFFFFFFFFFFFC; st.b32 [%rd0], 1;", FaultKind::out_of_bounds},
               Case{"add.s64 %rd0, %rd90, 0x4000000; st.global.b32 [%rd0], 1;", FaultKind::out_of_bounds},
               Case{"mov.b32 %r0, 16; st.shared.b32 [%r0], 1;", FaultKind::out_of_bounds},
               Case{"mov.b32 %r0, -4; ld.shared.b32 %r0, [%r0];", FaultKind::out_of_bounds},
               Case{"mov.b32 %r0, 0x05000000; ld.shared::cluster.b32 %r0, [%r0];", FaultKind::out_of_bounds},
               Case{"mov.b64 %rd0, 1048576; st.local.b32 [%rd0], 1;", FaultKind::out_of_bounds},
               Case{"ld.param.b64 %rd0, [p0+8];", FaultKind::out_of_bounds},
               Case{"mov.b64 %rd0, 0; cvta.param.u64 %rd0, %rd0; st.b32 [%rd0], 1;", FaultKind::read_only});
  INFO(which.instructions);
  PtxKernel kernel = PtxKernel::body(std::string(which.instructions) + "st.global.b32 [%rd90], 1;", 1,
                                     ".shared .align 16 .b8 tile[16];");
  const auto to = kernel.upload<std::uint32_t>({77, 77});
  const LaunchReport report = kernel.run(unchecked(32), to);
  REQUIRE(report.findings.all().size() == 1);
  CHECK(report.findings.all()[0].kind == which.kind);
  CHECK(kernel.download<std::uint32_t>(to, 2) == std::vector<std::uint32_t>{77, 77});
}

TEST_CASE("hints and fences are accepted, and change nothing") {
  PtxKernel kernel = PtxKernel::body(
      "prefetch.global.L2 [%rd90]; prefetchu.L1 [%rd90]; applypriority.global.L2::evict_normal [%rd90], "
      "128;\n"
      "fence.acq_rel.gpu; fence.sc.sys; membar.gl; fence.proxy.async; fence.mbarrier_init.release.cluster;\n"
      "fence.proxy.async.shared::cta; fence.proxy.alias; st.global.b32 [%rd90], 5;",
      1);
  const auto to = kernel.memory(128);
  kernel.run(1, 1, to);
  CHECK(kernel.download<std::uint32_t>(to, 1)[0] == 5);
}

TEST_CASE("what is not covered is refused by name") {
  const std::string instruction =
      GENERATE("st.async.relaxed.gpu.global.b32 [%rd90], %r1;",
               "multimem.ld_reduce.global.add.f32 %f0, [%rd90];", "ld.global.sparkling.b32 %r0, [%rd90];",
               "ld.global.v8.b16 {%rs0, %rs1, %rs2, %rs3, %rs4, %rs5, %rs6, %rs7}, [%rd90];",
               "ld.global.f32 %fd0, [%rd90];", "ld.global.b32 %rs0, [%rd90];", "st.const.b32 [%rd90], %r0;",
               "isspacep.const %p0, %rd90;", "alloca.u64 %rd0, 16;",
               "ld.global.v2.b32 {%r0, %r1, %r2}, [%rd90];", "ld.global.b32 %r0, [%rd90], %rd91;");
  const Outcome outcome = refusal(instruction);
  CHECK(outcome.status == Status::unsupported);
  CHECK(outcome.message.find(instruction.substr(0, instruction.find(' '))) != std::string::npos);
}

}  // namespace ak::emulator::test

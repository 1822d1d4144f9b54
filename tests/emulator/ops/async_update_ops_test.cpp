// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

constexpr std::uint32_t kUpdateThreads = 32;

constexpr const char* kShared = ".shared .align 8 .b8 bar[8];\n.shared .align 128 .b8 tile[1024];";

// Two blocks, each of which sends to the other: %r4 and %r5 are the other's tile and mbarrier, %r6 this thread's
// place in the tile.
std::string exchange(const std::string& bytes, const std::string& send, const std::string& receive) {
  return "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %cluster_ctarank;\nxor.b32 %r2, %r1, 1;\nsetp.eq.u32 %p0, %r0, "
         "0;\n"
         "@%p0 mbarrier.init.shared.b64 [bar], 1;\n"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], " +
         bytes +
         ";\nshl.b32 %r6, %r0, 3;\nmov.u32 %r8, tile;\nadd.u32 %r8, %r8, %r6;\nst.shared.v2.u32 [%r8], {7, "
         "9};\n"
         "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
         "mapa.shared::cluster.u32 %r4, %r8, %r2;\nmov.u32 %r9, bar;\nmapa.shared::cluster.u32 %r5, %r9, "
         "%r2;\n"
         "mad.lo.u32 %r3, %r1, 100, %r0;\n" +
         send +
         "\nPOLL:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra POLL;\n"
         "ld.shared.v2.u32 {%r10, %r11}, [%r8];\n" +
         receive +
         "\nmad.lo.u32 %r12, %r1, 32, %r0;\nmad.wide.u32 %rd1, %r12, 8, %rd90;\n"
         "st.global.v2.u32 [%rd1], {%r10, %r11};\n"
         "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";
}

std::vector<std::uint32_t> run_pair(const std::string& instructions) {
  PtxKernel kernel = PtxKernel::body(instructions, 1, kShared);
  const std::uint64_t out = kernel.memory(2 * kUpdateThreads * 8);
  LaunchRequest request;
  request.grid = request.cluster = {2, 1, 1};
  request.block = {kUpdateThreads, 1, 1};
  kernel.expect_no_findings(kernel.run(request, out));
  return kernel.download<std::uint32_t>(out, 4 * kUpdateThreads);
}

}  // namespace

TEST_CASE("st.async writes to another block and completes on its mbarrier") {
  const auto got = run_pair(
      exchange("256",
               "add.u32 %r7, %r3, 1000;\nst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 "
               "[%r4], {%r3, %r7}, [%r5];",
               ""));
  for (std::uint32_t i = 0; i < 2 * kUpdateThreads; ++i) {
    const std::uint32_t sent = (1 - i / kUpdateThreads) * 100 + i % kUpdateThreads;
    CHECK(got[2 * i] == sent);
    CHECK(got[2 * i + 1] == sent + 1000);
  }
}

TEST_CASE("red.async combines with what is there") {
  struct Case {
    std::string operation;
    std::uint32_t (*expected)(std::uint32_t sent);
  };
  const Case cases[] = {{"add.u32", [](std::uint32_t sent) { return 7 + sent; }},
                        {"min.s32", [](std::uint32_t sent) { return std::min(7u, sent); }},
                        {"max.u32", [](std::uint32_t sent) { return std::max(7u, sent); }},
                        {"inc.u32", [](std::uint32_t sent) { return 7 >= sent ? 0u : 8u; }},
                        {"xor.b32", [](std::uint32_t sent) { return 7u ^ sent; }}};
  for (const Case& c : cases) {
    const auto got =
        run_pair(exchange("128",
                          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." +
                              c.operation + " [%r4], %r3, [%r5];",
                          ""));
    for (std::uint32_t i = 0; i < 2 * kUpdateThreads; ++i) {
      INFO(c.operation << " " << i);
      CHECK(got[2 * i] == c.expected((1 - i / kUpdateThreads) * 100 + i % kUpdateThreads));
      CHECK(got[2 * i + 1] == 9);
    }
  }
}

namespace {

/// Reduces a tile of the values in `operand` into memory with the values in `memory`.
template <class T>
std::vector<T> reduce(const std::string& operation, const std::vector<T>& memory,
                      const std::vector<T>& operand) {
  const std::uint64_t bytes = memory.size() * sizeof(T);
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nmad.wide.u32 %rd1, %r0, 4, %rd91;\nmad.lo.u32 %r2, %r0, 4, "
      "%r1;\n"
      "ld.global.u32 %r3, [%rd1];\nst.shared.u32 [%r2], %r3;\nfence.proxy.async;\nbar.sync 0;\n"
      "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra END;\n"
      "cp.reduce.async.bulk.global.shared::cta.bulk_group." +
          operation + " [%rd90], [tile], " + std::to_string(bytes) +
          ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:",
      2, kShared);
  const std::uint64_t to = kernel.upload(memory), from = kernel.upload(operand);
  LaunchRequest request;
  request.block = {static_cast<std::uint32_t>(bytes / 4), 1, 1};
  kernel.expect_no_findings(kernel.run(request, to, from));
  return kernel.download<T>(to, memory.size());
}

}  // namespace

TEST_CASE("bulk reductions combine every element of a range") {
  using Words = std::vector<std::uint32_t>;
  using Halves = std::vector<std::uint16_t>;
  const Words a{1, 0xFFFFFFFFu, 5, 0x80000000u}, b{2, 1, 9, 7};
  CHECK(reduce("add.u32", a, b) == Words{3, 0, 14, 0x80000007u});
  CHECK(reduce("min.s32", a, b) == Words{1, 0xFFFFFFFFu, 5, 0x80000000u});
  CHECK(reduce("max.u32", a, b) == Words{2, 0xFFFFFFFFu, 9, 0x80000000u});
  CHECK(reduce("or.b32", a, b) == Words{3, 0xFFFFFFFFu, 13, 0x80000007u});
  CHECK(reduce("dec.u32", a, b) == Words{0, 1, 4, 7});
  CHECK(reduce("add.u64", std::vector<std::uint64_t>{0xFFFFFFFFull, 1}, {1, ~0ull}) ==
        std::vector<std::uint64_t>{0x100000000ull, 0});
  CHECK(reduce("add.f32", std::vector<float>{1.5f, 1e-40f, -2.0f, 3.0f}, {0.25f, 0.0f, 2.0f, -1.0f}) ==
        std::vector<float>{1.75f, 0.0f, 0.0f, 2.0f});
  CHECK(reduce("add.f64", std::vector<double>{1.0, -1.0}, {0.5, 1.0}) == std::vector<double>{1.5, 0.0});
  // 1 + 2^-11 is a tie, and 2^-24 is the smallest subnormal.
  CHECK(reduce("add.noftz.f16", Halves{0x3C00, 0x0001, 0x7C00, 0x3C01, 0, 0, 0, 0},
               Halves{0x1000, 0x0001, 0xFC00, 0x1000, 0, 0, 0, 0}) ==
        Halves{0x3C00, 0x0002, 0x7FFF, 0x3C02, 0, 0, 0, 0});
  CHECK(reduce("min.bf16", Halves{0x3F80, 0x7FC0, 0x8000, 0x4000, 0, 0, 0, 0},
               Halves{0x4000, 0x3F80, 0x0000, 0xC000, 0, 0, 0, 0}) ==
        Halves{0x3F80, 0x3F80, 0x8000, 0xC000, 0, 0, 0, 0});
}

TEST_CASE("forms of asynchronous stores and reductions that do not exist are refused") {
  for (const std::string text :
       {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u16 [%r1], %rs2, [%r3];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r1], %f2, [%r3];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd1], [%r2], 16;"}) {
    INFO(text);
    CHECK(refusal(text).status == ak::Status::unsupported);
  }
}

}  // namespace ak::emulator::test

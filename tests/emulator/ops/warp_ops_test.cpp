// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that meet in one instruction at two places.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

constexpr std::uint32_t kWarpThreads = 32;
using WarpWords = std::vector<std::uint32_t>;

/// Lanes below 16 execute `low` on %r1 = lane + 100, the others `high` on %r3 = lane + 200; %r5 is stored.
std::string in_two_branches(const std::string& low, const std::string& high) {
  return "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 16;\nmov.u32 %r5, 0;\n@%p0 bra HIGH;\n"
         "add.u32 %r1, %r0, 100;\n" +
         low + "\nbra.uni END;\nHIGH:\nadd.u32 %r3, %r0, 200;\n" + high +
         "\nEND:\nmad.wide.u32 %rd1, %r0, 4, %rd90;\nst.global.u32 [%rd1], %r5;";
}

WarpWords run_branches(const std::string& low, const std::string& high) {
  PtxKernel kernel = PtxKernel::body(in_two_branches(low, high), 1);
  const std::uint64_t out = kernel.memory(kWarpThreads * 4);
  kernel.run(1, kWarpThreads, out);
  return kernel.download<std::uint32_t>(out, kWarpThreads);
}

std::uint32_t mine(std::uint32_t lane) { return lane + (lane < 16 ? 100 : 200); }

template <class F>
WarpWords by_lane(F f) {
  WarpWords words;
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) words.push_back(f(lane));
  return words;
}

}  // namespace

TEST_CASE("a shuffle in both branches exchanges values between them") {
  CHECK(run_branches("shfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;",
                     "shfl.sync.bfly.b32 %r5|%p1, %r3, 16, 31, -1;") ==
        by_lane([](std::uint32_t lane) { return mine(lane ^ 16); }));
  CHECK(run_branches("shfl.sync.idx.b32 %r5, %r1, 20, 31, -1;", "shfl.sync.idx.b32 %r5, %r3, 3, 31, -1;") ==
        by_lane([](std::uint32_t lane) { return mine(lane < 16 ? 20 : 3); }));
}

TEST_CASE("votes, matches and reductions in both branches are of all lanes") {
  CHECK(run_branches("setp.eq.u32 %p1, %r0, 3;\nvote.sync.ballot.b32 %r5, %p1, -1;",
                     "setp.gt.u32 %p2, %r0, 29;\nvote.sync.ballot.b32 %r5, %p2, -1;") ==
        WarpWords(kWarpThreads, 0xC0000008u));
  CHECK(run_branches("redux.sync.add.u32 %r5, %r1, -1;", "redux.sync.add.u32 %r5, %r3, -1;") ==
        WarpWords(kWarpThreads, 16 * 300 + 31 * 16));
  CHECK(run_branches("redux.sync.max.s32 %r5, %r1, -1;", "redux.sync.max.s32 %r5, %r0, -1;") ==
        WarpWords(kWarpThreads, 115));
  CHECK(run_branches("and.b32 %r2, %r0, 7;\nmatch.any.sync.b32 %r5, %r2, -1;",
                     "and.b32 %r4, %r0, 7;\nmatch.any.sync.b32 %r5, %r4, -1;") ==
        by_lane([](std::uint32_t lane) { return 0x01010101u << lane % 8; }));
  CHECK(run_branches("elect.sync _|%p1, -1;\nselp.u32 %r5, 1, 0, %p1;",
                     "elect.sync _|%p2, -1;\nselp.u32 %r5, 1, 0, %p2;") ==
        by_lane([](std::uint32_t lane) { return lane == 0 ? 1u : 0u; }));
}

TEST_CASE("lanes with another mask, or another instruction, do not meet") {
  const auto finding = [](const std::string& low, const std::string& high) {
    PtxKernel kernel = PtxKernel::body(in_two_branches(low, high), 1);
    LaunchRequest request;
    request.block = {kWarpThreads, 1, 1};
    const LaunchReport report = kernel.run(request, kernel.memory(kWarpThreads * 4));
    REQUIRE_FALSE(report.findings.all().empty());
    return report.findings.all().front().kind;
  };
  CHECK(finding("shfl.sync.up.b32 %r5, %r1, 1, 0, -1;", "shfl.sync.down.b32 %r5, %r3, 1, 31, -1;") ==
        FaultKind::deadlock);
  CHECK(finding("vote.sync.any.pred %p1, %p0, -1;", "vote.sync.all.pred %p1, %p0, -1;") ==
        FaultKind::deadlock);
  CHECK(finding("redux.sync.add.u32 %r5, %r1, -1;", "redux.sync.add.s32 %r5, %r3, -1;") ==
        FaultKind::deadlock);
  CHECK(finding("shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;",
                "shfl.sync.bfly.b32 %r5, %r3, 1, 31, 0xFFFF0001;") == FaultKind::deadlock);
}

TEST_CASE("a value that no one wrote goes through a shuffle that lanes meet at in two places") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 16;\nmov.u32 %r2, tile;\nmov.u32 %r1, 7;\n@%p0 bra HIGH;\n"
      "shfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;\nbra.uni END;\nHIGH:\nld.shared.u32 %r3, [%r2];\n"
      "shfl.sync.bfly.b32 %r5, %r3, 16, 31, -1;\nEND:\nmad.wide.u32 %rd1, %r0, 4, %rd90;\n"
      "@!%p0 st.global.u32 [%rd1], %r5;",
      1, ".shared .align 4 .b8 tile[4];");
  LaunchRequest request;
  request.block = {kWarpThreads, 1, 1};
  const LaunchReport report = kernel.run(request, kernel.memory(kWarpThreads * 4));
  REQUIRE(report.findings.all().size() == 1);
  CHECK(report.findings.all().front().kind == FaultKind::uninitialized_read);
}

}  // namespace ak::emulator::test

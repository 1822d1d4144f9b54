// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

constexpr const char* kTile = ".shared .align 16 .b8 tile[2048];";

/// %rd1 = p0 + tid * 16, %r1 = tile + tid * 16, %rd2 = p1 + tid * 16.
std::string by_thread(const std::string& instructions) {
  return "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 16; add.s64 %rd1, %rd90, %rd0;\n"
         "add.s64 %rd2, %rd91, %rd0; mov.u32 %r1, tile; cvt.u32.u64 %r2, %rd0; add.u32 %r1, %r1, %r2;\n" +
         instructions;
}

/// What 32 threads write to p1, 16 bytes each, with checks off: reading too early is not refused then.
std::vector<std::uint32_t> output_of(const std::string& instructions) {
  PtxKernel kernel = PtxKernel::body(by_thread(instructions), 2, kTile);
  std::vector<std::uint32_t> input(512);
  std::iota(input.begin(), input.end(), 1u);
  const auto from = kernel.upload(input);
  const auto to = kernel.upload(std::vector<std::uint32_t>(128, 0));
  LaunchRequest request;
  request.block = {32, 1, 1};
  request.options.check = false;
  kernel.expect_no_findings(kernel.run(request, from, to));
  return kernel.download<std::uint32_t>(to, 128);
}

const std::string kFill = "mov.b32 %r9, 7777; st.shared.v4.b32 [%r1], {%r9, %r9, %r9, %r9};\n";
const std::string kStore =
    "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1]; st.global.v4.b32 [%rd2], {%r4, %r5, %r6, %r7};\n";

std::uint32_t first_of_lane(const std::vector<std::uint32_t>& output, std::size_t lane) {
  return output[4 * lane];
}

}  // namespace

TEST_CASE("a copy shows after the wait that covers it and not before") {
  const std::string copy = "cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group;\n";
  const auto waited = output_of(kFill + copy + "cp.async.wait_group 0;\n" + kStore);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(waited[i] == i + 1);
  const auto forgotten = output_of(kFill + copy + kStore);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(forgotten[i] == 7777);
  const auto too_few = output_of(kFill + copy + "cp.async.wait_group 1;\n" + kStore);
  CHECK(first_of_lane(too_few, 3) == 7777);
  const auto older = output_of(kFill + copy + "cp.async.commit_group; cp.async.wait_group 1;\n" + kStore);
  CHECK(first_of_lane(older, 3) == 13);
  const auto uncommitted =
      output_of(kFill + "cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.wait_all;\n" + kStore);
  CHECK(first_of_lane(uncommitted, 3) == 13);
  const auto open =
      output_of(kFill + "cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.wait_group 0;\n" + kStore);
  CHECK(first_of_lane(open, 3) == 7777);
}

TEST_CASE("what a copy does not read becomes zero") {
  const std::string end = "cp.async.wait_all;\n" + kStore;
  const auto part =
      output_of(kFill + "mov.b32 %r8, 6; cp.async.ca.shared.global.L2::128B [%r1], [%rd1], 16, %r8;\n" + end);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(part[4 * lane] == 4 * lane + 1);
    CHECK(part[4 * lane + 1] == ((4 * lane + 2) & 0xFFFF));
    CHECK(part[4 * lane + 2] == 0);
    CHECK(part[4 * lane + 3] == 0);
  }
  // A source that is not read may be any address.
  const auto nothing =
      output_of(kFill + "mov.b64 %rd5, 3; cp.async.ca.shared.global [%r1], [%rd5], 8, 0;\n" + end);
  CHECK(nothing[0] == 0);
  CHECK(nothing[1] == 0);
  CHECK(nothing[2] == 7777);
  const auto ignored = output_of(kFill +
                                 "setp.lt.u32 %p0, %r0, 4; cp.async.cg.shared.global [%r1], [%rd1], 16, "
                                 "%p0;\n" +
                                 end);
  CHECK(first_of_lane(ignored, 3) == 0);
  CHECK(first_of_lane(ignored, 4) == 17);
}

TEST_CASE("groups belong to threads, also where they diverge around a commit") {
  // Threads below 16 commit and wait; the others have only issued, so nothing obliges their copies.
  const auto output = output_of(kFill +
                                "cp.async.cg.shared.global [%r1], [%rd1], 16; setp.lt.u32 %p0, %r0, 16;\n"
                                "@%p0 cp.async.commit_group; @%p0 cp.async.wait_group 0;\n" +
                                kStore);
  CHECK(first_of_lane(output, 15) == 61);
  CHECK(first_of_lane(output, 16) == 7777);
  const auto both = output_of(kFill +
                              "cp.async.cg.shared.global [%r1], [%rd1], 16; setp.lt.u32 %p0, %r0, 16;\n"
                              "@%p0 cp.async.commit_group; @!%p0 cp.async.commit_group;\n"
                              "cp.async.wait_group 0;\n" +
                              kStore);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(both[i] == i + 1);
}

TEST_CASE("copies are checked when they are issued") {
  struct Case {
    const char* instruction;
    FaultKind kind;
  };
  const auto which = GENERATE(
      Case{"cp.async.cg.shared.global [%r1], [%rd1+4], 16;", FaultKind::misaligned},
      Case{"cp.async.cg.shared.global [%r1+8], [%rd1], 16;", FaultKind::misaligned},
      Case{"cp.async.ca.shared.global [%r1+2048], [%rd1], 4;", FaultKind::out_of_bounds},
      Case{"mov.b64 %rd1, 16; cp.async.ca.shared.global [%r1], [%rd1], 4;", FaultKind::out_of_bounds},
      Case{"cp.async.ca.shared.global [%r1], [%rd1], 4, 5;", FaultKind::invalid_operand});
  INFO(which.instruction);
  PtxKernel kernel = PtxKernel::body(by_thread(which.instruction), 2, kTile);
  const auto from = kernel.upload(std::vector<std::uint32_t>(512, 1));
  LaunchRequest request;
  request.block = {32, 1, 1};
  request.options.check = false;
  const auto report = kernel.run(request, from, from);
  REQUIRE(!report.findings.empty());
  CHECK(report.findings.all()[0].kind == which.kind);
}

TEST_CASE("copies of sizes PTX does not have are refused") {
  const std::string instruction =
      GENERATE("cp.async.cg.shared.global [%r1], [%rd1], 8;", "cp.async.ca.shared.global [%r1], [%rd1], 32;",
               "cp.async.ca.shared.global [%r1], [%rd1], %r2;",
               "cp.async.ca.shared::cluster.global [%r1], [%rd1], 4;");
  CHECK(refusal(instruction, 2, kTile).status == Status::unsupported);
}

}  // namespace ak::emulator::test

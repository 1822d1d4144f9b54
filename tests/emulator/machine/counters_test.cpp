// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/counters.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

using Addresses = std::array<std::uint64_t, 32>;
constexpr std::uint32_t kAll = 0xFFFFFFFFu;

Addresses strided(std::uint64_t step, std::uint64_t first = 0) {
  Addresses addresses{};
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] = first + step * i;
  return addresses;
}

LaunchReport counted(PtxKernel& kernel, std::uint64_t from) {
  LaunchRequest request;
  request.block = {32, 1, 1};
  request.options.count_memory = true;
  return kernel.run(request, from);
}

}  // namespace

TEST_CASE("sectors are counted once however many lanes touch them") {
  CHECK(sectors_of(strided(4).data(), kAll, 4) == 4);
  CHECK(sectors_of(strided(4, 16).data(), kAll, 4) == 5);
  CHECK(sectors_of(strided(32).data(), kAll, 4) == 32);
  CHECK(sectors_of(strided(0).data(), kAll, 4) == 1);
  CHECK(sectors_of(strided(16).data(), kAll, 16) == 16);
  CHECK(sectors_of(strided(32, 16).data(), kAll, 32) == 33);
  CHECK(sectors_of(strided(128).data(), 0b101, 4) == 2);
  CHECK(sectors_of(strided(4).data(), 0, 4) == 0);
}

TEST_CASE("wavefronts follow the banks of shared memory") {
  CHECK(wavefronts_of(strided(4).data(), kAll, 4) == 1);
  CHECK(wavefronts_of(strided(0).data(), kAll, 4) == 1);
  CHECK(wavefronts_of(strided(8).data(), kAll, 4) == 2);
  CHECK(wavefronts_of(strided(128).data(), kAll, 4) == 32);
  CHECK(wavefronts_of(strided(132).data(), kAll, 4) == 1);
  CHECK(wavefronts_of(strided(2).data(), kAll, 2) == 1);
  CHECK(wavefronts_of(strided(8).data(), kAll, 8) == 2);
  CHECK(wavefronts_of(strided(16).data(), kAll, 16) == 4);
  CHECK(wavefronts_of(strided(128).data(), kAll, 16) == 32);
  CHECK(wavefronts_of(strided(128).data(), 0b11, 4) == 2);
}

TEST_CASE("a launch counts what its memory instructions moved") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 64; add.s64 %rd1, %rd90, %rd0;\n"
      "ld.global.f32 %f0, [%rd1]; mov.u32 %r1, tile; cvt.u32.u64 %r2, %rd0; add.u32 %r1, %r1, %r2;\n"
      "st.shared.f32 [%r1], %f0; red.global.add.f32 [%rd90], %f0;",
      1, ".shared .align 16 .b8 tile[2048];");
  const auto from = kernel.upload(std::vector<float>(512, 1.0f));
  const LaunchReport report = counted(kernel, from);
  const CounterSummary sum = summarize(kernel.program(), report.counters);
  CHECK(sum.by_class[static_cast<std::size_t>(InstructionClass::global_load)] == 32);
  CHECK(sum.global.requests == 2);
  CHECK(sum.global.bytes == 256);
  CHECK(sum.global.sectors == 32 + 1);
  CHECK(sum.global.ideal_sectors == 4 + 4);
  CHECK(sum.global.atomic_conflicts == 31);
  CHECK(sum.shared.requests == 1);
  CHECK(sum.shared.shared_wavefronts == 16);
  CHECK(sum.shared.bank_conflicts == 15);
  CHECK(sum.atomics == 32);
  CHECK(to_json(sum)["global"]["sectors"] == 33);
}

TEST_CASE("whole warps are counted like their lanes") {
  // Uniform, or one lane after the other; a stride that is neither goes lane by lane.
  struct Case {
    const char* elements;
    std::uint32_t bytes;
  };
  for (const Case& c : {Case{"u8 %r9", 1},
                        {"u16 %r9", 2},
                        {"u32 %r9", 4},
                        {"v2.u32 {%r8, %r9}", 8},
                        {"v4.u32 {%r6, %r7, %r8, %r9}", 16}}) {
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{c.bytes}, std::uint64_t{32}}) {
      INFO(c.elements << " every " << step);
      const std::string elements(c.elements), type = elements.substr(0, elements.find(' ')),
                                              list = elements.substr(elements.find(' '));
      PtxKernel kernel = PtxKernel::body("mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, " + std::to_string(step) +
                                             "; cvt.u64.u32 %rd0, %r1; add.s64 %rd1, %rd90, %rd0; mov.u32 "
                                             "%r2, tile; add.u32 %r2, %r2, %r1;\n" +
                                             "ld.global." + type + list + ", [%rd1+16]; st.shared." + type +
                                             " [%r2+16]," + list + ";",
                                         1, ".shared .align 64 .b8 tile[2048];");
      const auto from = kernel.upload(std::vector<float>(512, 1.0f));
      const CounterSummary sum = summarize(kernel.program(), counted(kernel, from).counters);
      CHECK(sum.global.bytes == 32 * c.bytes);
      CHECK(sum.global.sectors == sectors_of(strided(step, from + 16).data(), kAll, c.bytes));
      CHECK(sum.shared.shared_wavefronts == wavefronts_of(strided(step, 16).data(), kAll, c.bytes));
      CHECK(sum.shared.requests == 1);
    }
  }
}

TEST_CASE("local memory interleaves threads, and copies count once") {
  PtxKernel local = PtxKernel::body(".local .align 16 .b8 mine[32]; st.local.b64 [mine+8], %rd90;", 1);
  const auto unused = local.memory(4);
  const LaunchReport stores = counted(local, unused);
  CHECK(summarize(local.program(), stores.counters).local.sectors == 8);
  PtxKernel copy = PtxKernel::body(
      "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 16; add.s64 %rd1, %rd90, %rd0; mov.u32 %r1, tile;\n"
      "cvt.u32.u64 %r2, %rd0; add.u32 %r1, %r1, %r2; cp.async.cg.shared.global [%r1], [%rd1], 16;\n"
      "cp.async.wait_all;",
      1, ".shared .align 16 .b8 tile[512];");
  const auto from = copy.upload(std::vector<float>(128, 1.0f));
  const CounterSummary sum = summarize(copy.program(), counted(copy, from).counters);
  CHECK(sum.global.bytes == 512);
  CHECK(sum.global.sectors == 16);
  CHECK(sum.shared.shared_wavefronts == 4);
  CHECK(sum.shared.bank_conflicts == 0);
}

}  // namespace ak::emulator::test

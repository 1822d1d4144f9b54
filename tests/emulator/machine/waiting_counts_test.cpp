// SPDX-License-Identifier: Apache-2.0
// Counts of what waits and of what is copied behind the threads' backs.
#include <catch2/catch.hpp>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

CounterSummary summed_counts(PtxKernel& kernel, std::uint64_t seed, std::uint64_t argument) {
  LaunchRequest request;
  request.block = {64, 1, 1};
  request.options.count_memory = true;
  request.options.seed = seed;
  const LaunchReport report = kernel.run(request, argument);
  kernel.expect_no_findings(report);
  return summarize(kernel.program(), report.counters);
}

std::uint64_t threads_of(const CounterSummary& sum, InstructionClass which) {
  return sum.by_class[static_cast<std::size_t>(which)];
}

// The first warp works for long while the second one waits.
constexpr const char* kWork =
    "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra POLL;\nmov.u32 %r1, 0;\n"
    "WORK:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 700;\n@%p2 bra WORK;\n";

PtxKernel flag_kernel(const std::string& poll) {
  return PtxKernel::body(std::string("mov.u32 %r5, 8;\n") + kWork +
                             "st.release.gpu.global.u32 [%rd90], 1;\nbra.uni END;\n" + poll + "END:",
                         1);
}

}  // namespace

TEST_CASE("rounds of a loop that waits for an mbarrier do not count") {
  PtxKernel kernel = PtxKernel::body(
      std::string("mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 mbarrier.init.shared.b64 [bar], 32;\n"
                  "bar.sync 0;\n") +
          kWork +
          "mbarrier.arrive.shared.b64 _, [bar];\nbra.uni END;\n"
          "POLL:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra POLL;\nEND:",
      1, ".shared .align 8 .b8 bar[8];");
  const std::uint64_t unused = kernel.memory(4);
  const CounterSummary first = summed_counts(kernel, 0, unused);
  CHECK(threads_of(first, InstructionClass::barrier) == 1 + 64 + 32 + 32);
  for (const std::uint64_t seed : {1ull, 2ull, 3ull}) {
    const CounterSummary sum = summed_counts(kernel, seed, unused);
    CHECK(sum.warp_instructions == first.warp_instructions);
    CHECK(sum.thread_instructions == first.thread_instructions);
  }
}

TEST_CASE("rounds of a loop that polls a flag do not count, nor does its traffic") {
  const std::string polls[] = {
      "POLL:\nld.acquire.gpu.global.u32 %r2, [%rd90];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra POLL;\n",
      "POLL:\nld.volatile.global.u32 %r2, [%rd90];\nsetp.ne.u32 %p4, %r2, 0;\n@%p4 bra END;\n"
      "nanosleep.u32 %r5;\nshl.b32 %r5, %r5, 1;\nmin.u32 %r5, %r5, 256;\nbra.uni POLL;\n",
      "POLL:\natom.global.cas.b32 %r2, [%rd90], 2, 3;\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra POLL;\n"};
  for (const std::string& poll : polls) {
    INFO(poll);
    PtxKernel kernel = flag_kernel(poll);
    std::uint64_t expected = 0;
    for (const std::uint64_t seed : {0ull, 1ull, 2ull}) {
      const std::uint64_t flag = kernel.upload(std::vector<std::uint32_t>{0});
      const CounterSummary sum = summed_counts(kernel, seed, flag);
      CHECK(sum.global.requests == 2);
      CHECK(sum.global.sectors == 2);
      if (seed == 0) expected = sum.thread_instructions;
      CHECK(sum.thread_instructions == expected);
    }
  }
}

TEST_CASE("loops that follow a chain, count or write are work") {
  PtxKernel chain = PtxKernel::body(
      "mov.u64 %rd1, %rd90;\nNEXT:\nld.volatile.global.u64 %rd1, [%rd1];\nsetp.ne.u64 %p0, %rd1, 0;\n"
      "@%p0 bra NEXT;",
      1);
  const std::uint64_t list = chain.memory(3 * 8);
  const std::vector<std::uint64_t> links{list + 8, list + 16, 0};
  std::memcpy(chain.arena().host(list, 24), links.data(), 24);
  chain.arena().mark_initialized(list, 24, true);
  CHECK(threads_of(summed_counts(chain, 0, list), InstructionClass::global_load) == 3 * 64);
  PtxKernel tries = PtxKernel::body(
      "mov.u32 %r1, 0;\nAGAIN:\nld.volatile.global.u32 %r2, [%rd90];\nadd.u32 %r1, %r1, %r2;\n"
      "setp.lt.u32 %p0, %r1, 5;\n@%p0 bra AGAIN;",
      1);
  CHECK(threads_of(summed_counts(tries, 0, tries.upload(std::vector<std::uint32_t>{1})),
                   InstructionClass::global_load) == 5 * 64);
}

TEST_CASE("bulk copies count the memory they move") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r0, %tid.x;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra WAIT;\n"
      "mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd90+16], 512, [bar];\n"
      "POLL:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra POLL;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd90+2048], [tile], 256;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nWAIT:",
      1, ".shared .align 8 .b8 bar[8];\n.shared .align 128 .b8 tile[512];");
  const std::uint64_t memory = kernel.upload(std::vector<float>(1024, 1.0f));
  const CounterSummary sum = summed_counts(kernel, 0, memory);
  CHECK(sum.global.requests == 2);
  CHECK(sum.global.bytes == 512 + 256);
  CHECK(sum.global.sectors == 17 + 8);
  CHECK(sum.global.ideal_sectors == 16 + 8);
  CHECK(sum.shared.shared_wavefronts == 4 + 2);
}

}  // namespace ak::emulator::test

// SPDX-License-Identifier: Apache-2.0
// What a kernel reads of the device and of time is what a GPU would show it.
#include "emulator/machine/device_identity.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

constexpr std::uint64_t kToday = 1'790'000'000'000'000'000;  // of 2026, in ns

/// What every block's first thread reads from a special register, as 64 bits.
std::vector<std::uint64_t> read_register(const std::string& name, bool wide, LaunchRequest request) {
  const std::string read =
      wide ? "mov.u64 %rd1, %" + name + ";" : "mov.u32 %r3, %" + name + "; cvt.u64.u32 %rd1, %r3;";
  PtxKernel kernel =
      PtxKernel::body("mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd3, %rd90, %rd2;" + read +
                          "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u64 [%rd3], %rd1;",
                      1);
  const std::uint64_t out = kernel.memory(8 * request.grid[0]);
  const LaunchReport report = kernel.run(request, out);
  kernel.expect_no_findings(report);
  return kernel.download<std::uint64_t>(out, request.grid[0]);
}

LaunchRequest request_at(std::uint64_t start_ns, std::uint32_t blocks = 1) {
  LaunchRequest request;
  request.grid = {blocks, 1, 1};
  request.block = {64, 1, 1};
  request.device.start_ns = start_ns;
  return request;
}

TEST_CASE("the global timer begins at the time that it is given and moves in a GPU's steps") {
  LaunchRequest request = request_at(kToday + 17, 200);
  const auto times = read_register("globaltimer", true, request);
  for (const std::uint64_t time : times) CHECK(time % 32 == 0);
  CHECK(times.front() / 1'000'000 == kToday / 1'000'000);
  CHECK(std::is_sorted(times.begin(), times.end()));
  CHECK(times.back() > times.front());
  request.device.timer_step_ns = 1'024;
  CHECK(read_register("globaltimer", true, request).back() % 1'024 == 0);
}

TEST_CASE("clocks never run backwards, repeat, and are no count of instructions") {
  const auto cycles = read_register("clock64", true, request_at(kToday, 200));
  CHECK(cycles == read_register("clock64", true, request_at(kToday, 200)));
  CHECK(std::is_sorted(cycles.begin(), cycles.end()));
  CHECK(cycles.front() > 1'000'000'000);
  std::set<std::uint64_t> remainders;
  for (const std::uint64_t at : cycles) remainders.insert(at % 4);
  CHECK(remainders.size() > 1);
  CHECK(cycles != read_register("clock64", true, request_at(kToday + 1'000'000, 200)));
}

TEST_CASE("ids are those of a device with as many SMs and warps as the nominal one") {
  LaunchRequest request = request_at(kToday, 300);
  request.device.sm_count = 114;
  request.device.launch = 41;
  const auto sms = read_register("smid", false, request);
  CHECK(std::set<std::uint64_t>(sms.begin(), sms.end()).size() == 114);
  CHECK(*std::max_element(sms.begin(), sms.end()) == 113);
  CHECK(sms[1] != sms[0] + 1);
  CHECK(read_register("nsmid", false, request).front() == 114);
  CHECK(read_register("nwarpid", false, request).front() == 64);
  CHECK(read_register("gridid", true, request).front() == 41);
}

TEST_CASE("shared memory is counted in units of an allocation") {
  LaunchRequest request = request_at(kToday);
  request.dynamic_shared_bytes = 200;
  CHECK(read_register("dynamic_smem_size", false, request).front() == 200);
  CHECK(read_register("total_smem_size", false, request).front() == 256);
}

TEST_CASE("addresses lie where CUDA's driver maps memory, and windows apart from all of it") {
  for (const std::uint64_t address : {kGlobalBase, kSharedWindow, kLocalWindow, kParameterWindow})
    CHECK(address >> 40 == 0x7F);
  constexpr std::uint64_t kMaxMemory = std::uint64_t{512} << 30;
  CHECK(((kGlobalBase + kMaxMemory) & kWindowMask) < kSharedWindow);
}

}  // namespace
}  // namespace ak::emulator::test

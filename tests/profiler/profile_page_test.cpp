// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/profile_page.h"

#include <catch2/catch.hpp>

#include "core/text/file.h"

using namespace ak;
using namespace ak::profiler;

namespace {

ProfiledLaunch transpose(double conflicts) {
  AnalysisInput input;
  input.method = "cupti";
  input.launch.kernel = "transpose";
  input.launch.metrics = {{"time/duration", 250e3 - (conflicts > 0 ? 0 : 120e3)},
                          {"dram/throughput", conflicts > 0 ? 43 : 86},
                          {"dram/bytes_read", 268e6},
                          {"dram/bytes_written", 268e6},
                          {"l1/data_stage", conflicts > 0 ? 93 : 6},
                          {"shared/throughput", conflicts > 0 ? 92 : 5},
                          {"shared/wavefronts", 2.2e6 + conflicts},
                          {"shared/bank_conflicts", conflicts},
                          {"issue/active", 12},
                          {"occupancy/achieved", 71},
                          {"stall/mio_throttle", conflicts > 0 ? 40 : 1},
                          {"stall/long_scoreboard", 9}};
  input.launch.lines = {{0, {{"selected", 5}}}, {7, {{"mio_throttle", 80}, {"selected", 15}}}};
  input.kernel.registers = 38;
  input.occupancy = Occupancy{6, 0.75, "registers"};
  input.grid = {256, 256, 1};
  input.block = {32, 8, 1};
  input.device.sm_count = 132;
  input.work = {0, 536e6};
  input.floor = {Nanoseconds(110e3), "536 MB through a memory of 4800 GB/s at most"};
  input.time_ns = 240e3;
  Analysis analysis = analyze(input);
  analysis.not_judged = {"barrier_bound (no stall/barrier)"};
  return {std::move(input), std::move(analysis)};
}

constexpr std::string_view kSource = "1\n2\n3\n4\n5\n6\n  y[c] = tile[x][i];\n8\n";

// Texts that are right are files, to be read and compared by people too.
std::string golden(const std::string& name) { return read_file(AK_GOLDEN "/" + name); }

}  // namespace

TEST_CASE("a page shows units, memory, occupancy, waiting, hot lines, the bottleneck and what to do") {
  const ProfiledLaunch launch = transpose(66e6);
  Profile profile;
  profile.workload = "r8192";
  profile.method = "cupti";
  profile.degradation = {"clocks were not fixed"};
  CHECK(render_profile(profile, std::span(&launch, 1), kSource) == golden("page.txt"));
}

TEST_CASE("a comparison begins with time and bottleneck, and then what changed most") {
  const ProfiledLaunch before = transpose(66e6), after = transpose(0);
  CHECK(render_comparison(std::span(&before, 1), std::span(&after, 1)) == golden("comparison.txt"));
  CHECK(render_comparison(std::span(&before, 1), {}) ==
        "\n1 launches before, 0 after: the others have no counterpart\n");
}

TEST_CASE("numbers on a page are short") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(0.1234) == "0.123");
  CHECK(short_number(1234) == "1234");
  CHECK(short_number(12345) == "12.3k");
  CHECK(short_number(1.5e9) == "1.5G");
  CHECK(short_number(std::numeric_limits<double>::quiet_NaN()) == "?");
}

// SPDX-License-Identifier: Apache-2.0
// Occupancy as a user meets it: numbers, and real kernels through NVRTC.
#include <catch2/catch.hpp>

#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// Two launches: one with dynamic shared memory by its block size, and one with static memory and launch bounds.
constexpr const char* kTwoLaunches = R"cu(/* alphakernel
{"tunables": {"BLOCK": {"values": [128, 256], "default": 256}},
 "launches": [
  {"kernel": "sum", "grid": ["ceil_div(N, BLOCK)"], "block": ["BLOCK"], "shared_bytes": "BLOCK * 256",
   "args": ["a", "b", "c", {"i64": "N"}]},
  {"kernel": "again", "grid": [1], "block": [64], "args": ["c"]}]} */
extern "C" __global__ void sum(const float* a, const float* b, float* c, long long n) {
  extern __shared__ float tile[];
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? a[i] : 0;
  __syncthreads();
  if (i < n) c[i] = tile[threadIdx.x] + b[i];
}
extern "C" __global__ __launch_bounds__(128) void again(float* c) {
  __shared__ float all[1024];
  all[threadIdx.x] = c[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = all[threadIdx.x];
}
)cu";

Json asked(Sandbox& box, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "occupancy");
  arguments.emplace_back("--json");
  const ProgramResult result = box.run(arguments);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  return parse_json(result.out);
}

}  // namespace

TEST_CASE("numbers are enough: blocks, what limits them, and the next step") {
  Sandbox box;
  const std::vector<std::string> numbers{"--threads", "256", "--registers", "64", "--shared", "48KB"};
  std::vector<std::string> on_h200{"occupancy", "--arch", "h200"};
  on_h200.insert(on_h200.end(), numbers.begin(), numbers.end());
  const std::string page = box.run(on_h200).out;
  CHECK(page.find(
            "4 blocks and 32 of 64 warps per SM: occupancy 50 %, limited by registers and shared memory") !=
        std::string::npos);
  CHECK(page.find("next step, 5 blocks and occupancy 62.5 %: at most 48 registers a thread") !=
        std::string::npos);
  CHECK(page.find("at most 45568 bytes of shared memory") != std::string::npos);
  CHECK(page.find("\n*     256       4     32       50 %") != std::string::npos);
  std::vector<std::string> on_volta{"--arch", "sm_70"};
  on_volta.insert(on_volta.end(), numbers.begin(), numbers.end());
  const Json json = asked(box, on_volta);
  CHECK(json["arch"] == "sm_70");
  CHECK(json["launches"][0]["blocks_per_sm"] == 2);  // 96 KB, and no byte reserved
  CHECK(json["launches"][0]["limiters"] == Json{"shared memory"});
  CHECK(json["launches"][0]["by_block_size"].size() == 32);
}

TEST_CASE("a full SM has no next step, and what cannot be launched says why") {
  Sandbox box;
  const auto page = [&](const std::string& threads, const std::string& registers) {
    return box.run({"occupancy", "--threads", threads, "--registers", registers, "--arch", "sm_90"}).out;
  };
  CHECK(page("256", "32").find("the SM is full") != std::string::npos);
  CHECK(page("1024", "128").find("cannot be launched: not one block fits, because of registers") !=
        std::string::npos);
  CHECK(page("1024", "128").find("at most 64 registers a thread") != std::string::npos);
}

TEST_CASE("a kernel file is compiled: every launch with its registers and shared memory") {
  Sandbox box;
  const std::string file = box.write("two.cu", kTwoLaunches);
  const Json json = asked(box, {file, "--algorithm", "vector_add", "--arch", "sm_90a"});
  REQUIRE(json["launches"].size() == 2);
  const Json &sum = json["launches"][0], &again = json["launches"][1];
  CHECK(sum["kernel"] == "sum");
  CHECK(sum["dynamic_shared_bytes"] == 65536);
  CHECK(sum["blocks_per_sm"] == 3);  // 228 KB of 65 KB
  CHECK(sum["limiters"] == Json{"shared memory"});
  CHECK(sum["registers"].get<int>() > 4);
  CHECK(again["shared_bytes"] == 4096);
  CHECK(again["by_block_size"].size() == 4);  // launch bounds: 128 threads
  const std::string page = box.run({"occupancy", file, "--algorithm", "vector_add", "--arch", "sm_90a"}).out;
  CHECK(page.find("again on sm_90a (") != std::string::npos);
}

TEST_CASE("occupancy says what is missing or too much") {
  Sandbox box;
  const std::string file = box.write("two.cu", kTwoLaunches);
  const auto refused = [&](std::vector<std::string> arguments, const std::string& message) {
    arguments.insert(arguments.begin(), "occupancy");
    const ProgramResult result = box.run(arguments);
    INFO(result.err);
    CHECK(result.exit_code == code(ExitCode::usage));
    CHECK(result.err.find(message) != std::string::npos);
  };
  refused({"--threads", "256"}, "--threads and --registers");
  refused({file, "--threads", "256"}, "not both");
  refused({"--threads", "256", "--registers", "300"}, "--registers: expected an integer from 1 to 255");
  refused({"--threads", "256", "--registers", "32", "--arch", "sm_60"}, "unknown architecture 'sm_60'");
  refused({file, "--algorithm", "vector_add", "--arch", "sm_70"}, "does not compile for sm_70");
}

// SPDX-License-Identifier: Apache-2.0
// Profiles as a user meets them, on the CPU device.
#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A transpose whose loads (columns) or stores (rows) go across the matrix's rows.
std::string transpose(bool across_loads) {
  const char* index = across_loads ? "r = i % rows, c = i / rows" : "r = i / cols, c = i % cols";
  return std::string(R"cu(/* alphakernel
{"params": {"dtype": "float32"},
 "launches": [{"kernel": "k", "grid": ["ceil_div(R * C, 256)"], "block": [256],
               "args": ["x", "y", {"i64": "R"}, {"i64": "C"}]}]}
*/
extern "C" __global__ void k(const float* x, float* y, long long rows, long long cols) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  const long long )cu") +
         index + ";\n  if (i < rows * cols) y[c * rows + r] = x[r * cols + c];\n}\n";
}

std::vector<std::string> profile(const std::string& kernel, const std::vector<std::string>& extra = {}) {
  std::vector<std::string> arguments{"profile", kernel,       "--algorithm", "transpose",
                                     "--shape", "R=64,C=128", "--device",    "emulator",
                                     "--arch",  "sm_90a",     "--unaudited"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

}  // namespace

TEST_CASE("a profile on the CPU device names the accesses that lie apart, and keeps its counts") {
  Sandbox box;
  const ProgramResult result = box.run(profile(box.write("apart.cu", transpose(true)), {"--json"}));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = parse_json(result.out);
  CHECK(json["bottleneck"]["name"] == "uncoalesced_access");
  const Json& record = json["record"];
  CHECK(record["analysis"]["bottleneck"] == "uncoalesced_access");
  CHECK(record["profile"]["method"] == "emulator");
  CHECK(record["profile"]["launches"][0]["metrics"]["global/sectors"].get<double>() > 0);
  CHECK(json["evaluation"]["status"] == "ok");
}

TEST_CASE("a stored variant is profiled by its number, and compared with a file") {
  Sandbox box;
  const std::string file = box.write("apart.cu", transpose(true));
  REQUIRE(box.run(profile(file)).exit_code == 0);
  const ProgramResult result =
      box.run({"profile", "1", "--shape", "R=64,C=128", "--device", "emulator", "--arch", "sm_90a",
               "--unaudited", "--compare", box.write("rows.cu", transpose(false))});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("bottleneck: uncoalesced_access") != std::string::npos);
  CHECK(result.out.find("rows.cu to 1") != std::string::npos);
  const ProgramResult none = box.run({"profile", "77", "--device", "emulator", "--arch", "sm_90a"});
  CHECK(none.exit_code == static_cast<int>(ExitCode::usage));
  CHECK(none.err.find("there is no variant 77") != std::string::npos);
}

TEST_CASE("a kernel that is wrong is not profiled") {
  Sandbox box;
  std::string source = transpose(false);
  source.replace(source.find("y[c * rows + r] ="), 17, "y[c * rows + r] = 1 +");
  const ProgramResult result = box.run(profile(box.write("wrong.cu", source)));
  CHECK(result.exit_code == static_cast<int>(ExitCode::no_kernel));
  CHECK(result.out.find("incorrect") != std::string::npos);
  CHECK(result.out.find("bottleneck") == std::string::npos);
}

TEST_CASE("an unknown metric is an error that suggests the nearest") {
  Sandbox box;
  const ProgramResult result =
      box.run(profile(box.write("k.cu", transpose(false)), {"--metrics", "dram/bytes_reed"}));
  CHECK(result.exit_code == static_cast<int>(ExitCode::usage));
  CHECK(result.err.find("dram/bytes_read") != std::string::npos);
}

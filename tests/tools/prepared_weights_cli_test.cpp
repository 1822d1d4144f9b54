// SPDX-License-Identifier: Apache-2.0
// A linear layer whose weights a candidate transposes before its calls, from the file to the result.
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

const std::string kKernel = read_file(AK_SOURCE_DIR "/templates/linear/linear_transposed.cu");

/// The kernel with the first `right` replaced by `wrong`, evaluated on the CPU device.
ProgramResult evaluate_changed(Sandbox& box, const std::string& right, const std::string& wrong) {
  std::string text = kKernel;
  const std::size_t at = text.find(right);
  REQUIRE(at != std::string::npos);
  text.replace(at, right.size(), wrong);
  return box.run({"evaluate", box.write("kernel.cu", text), "--algorithm", "linear", "--dtype", "bf16",
                  "--device", "emulator", "--json"});
}

}  // namespace

TEST_CASE("weights of bfloat16 are transposed in preparation, whose cost and bytes are beside the score") {
  Sandbox box;
  const ProgramResult result = evaluate_changed(box, "/* alphakernel", "/* alphakernel");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json record = parse_json(result.out)["record"];
  int prepared = 0;
  for (const Json& measurement : record["measurements"]) {
    if (measurement["role"] != "candidate") continue;
    ++prepared;
    const Json& preparation = measurement["preparation"];
    CHECK(preparation["bytes"] == (measurement["workload"] == "m33_n65_k130" ? 65 * 130 * 2 : 96 * 256 * 2));
    CHECK(preparation["time_ns"] > 0);
  }
  CHECK(prepared == 2);
  CHECK(std::stoi(box.query("SELECT count(*) FROM metrics WHERE name = 'prepare/bytes'")) == 2);
}

TEST_CASE("what preparation costs is no part of the score") {
  Sandbox box;
  const std::string loop = "  for (int i = threadIdx.y; i < 32; i += 8)\n    if (first_n + i < n";
  const ProgramResult once = evaluate_changed(box, loop, loop);
  const ProgramResult twice = evaluate_changed(
      box, "  __shared__ scalar_t tile[32][33];",
      "  __shared__ scalar_t tile[32][33];\n  volatile int idle = 0;\n  while (idle < 200) idle = idle + 1;");
  INFO(twice.err);
  REQUIRE(once.exit_code == 0);
  REQUIRE(twice.exit_code == 0);
  const Json cheap = parse_json(once.out)["record"], dear = parse_json(twice.out)["record"];
  CHECK(cheap["score_ns"] == dear["score_ns"]);
  CHECK(cheap["measurements"][0]["preparation"]["time_ns"] <
        dear["measurements"][0]["preparation"]["time_ns"]);
}

TEST_CASE("weights that were prepared wrongly make a wrong result") {
  Sandbox box;
  const ProgramResult result =
      evaluate_changed(box, "= tile[threadIdx.x][i]", "= tile[threadIdx.x][i] + tile[threadIdx.x][i]");
  INFO(result.err);
  CHECK(result.exit_code == code(ExitCode::no_kernel));
  CHECK(parse_json(result.out)["record"]["status"] == "incorrect");
}

TEST_CASE("preparation is given no input but weights, and calls write no prepared memory") {
  Sandbox box;
  const ProgramResult reads =
      evaluate_changed(box, "\"args\": [\"weight\", \"columns\"", "\"args\": [\"x\", \"columns\"");
  INFO(reads.err);
  const Json read = parse_json(reads.out)["record"];
  CHECK(read["gate"] == "weights_only");
  CHECK(read["message"].get<std::string>().find("'x', which is no weight") != std::string::npos);
  const ProgramResult writes = evaluate_changed(
      box, "  if (column >= n) return;",
      "  if (column == 0 && first == 0) const_cast<scalar_t*>(columns)[0] = static_cast<scalar_t>(7.0f);\n"
      "  if (column >= n) return;");
  INFO(writes.err);
  const Json written = parse_json(writes.out)["record"];
  CHECK(written["status"] != "ok");
}

TEST_CASE("a kernel that prepares weights is exported with the function that does") {
  Sandbox box;
  const ProgramResult result = box.run({"export", box.write("kernel.cu", kKernel), "--algorithm", "linear",
                                        "--output", (box.folder / "out").string(), "--arch", "sm_90a"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const std::string header = read_file(box.folder / "out" / "linear_bf16_none.h");
  CHECK(header.find("linear_bf16_none_prepare(") != std::string::npos);
}

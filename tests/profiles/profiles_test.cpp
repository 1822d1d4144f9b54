// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "core/text/file.h"
#include "core/text/json.h"
#include "profiler/analysis/analysis.h"
#include "profiler/analysis/bottleneck_rules.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::profiler;
using namespace ak::testing;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(AK_SOURCE_DIR) / "tests/profiles";

Json suite() { return parse_json(read_file(kFolder / "suite.json")); }

Json evaluate(const Json& row, Sandbox& sandbox) {
  std::vector<std::string> words{AK_PROGRAM,
                                 "evaluate",
                                 (kFolder / row["file"].get<std::string>()).string(),
                                 "--algorithm",
                                 row["algorithm"],
                                 "--shape",
                                 row["emulator_shape"],
                                 "--device",
                                 "emulator",
                                 "--arch",
                                 "sm_90a",
                                 "--unaudited",
                                 "--json"};
  const Json params = row.value("params", Json::object());
  for (const auto& [name, value] : params.items()) {
    words.push_back("--" + name);
    words.push_back(value);
  }
  const ProgramResult result = run_program(words, sandbox.environment);
  INFO(result.err);
  const Json json = try_parse_json(result.out);
  REQUIRE(json.is_object());
  return json;
}

AnalysisInput counted(const Json& row, const Json& result) {
  AnalysisInput input;
  input.method = "emulator";
  input.device.arch = {9, 0, 'a'};
  input.device.sm_count = 132;
  input.kernel.registers = result["kernels"][0]["registers"];
  if (row["algorithm"] == "gemm") input.matrix_type = DType::bfloat16;
  for (const Json& measurement : result["record"]["measurements"]) {
    if (measurement["role"] == "candidate") input.launch.metrics = measurement["counts"].get<Metrics>();
  }
  return input;
}

}  // namespace

TEST_CASE("kernels with a bottleneck are right on the CPU device, which names it where its counts can tell") {
  Sandbox sandbox;
  for (const Json& row : suite()) {
    if (!row.contains("emulator_shape")) continue;
    INFO(row["file"]);
    const Json result = evaluate(row, sandbox);
    INFO(result["record"]["message"]);
    REQUIRE(result["status"] == "ok");
    if (!row.contains("counted")) continue;
    const Analysis analysis = analyze(counted(row, result));
    INFO(analysis.bottleneck.evidence);
    CHECK(analysis.bottleneck.name == row["counted"]);
    CHECK(analysis.basis == "counts");
  }
}

TEST_CASE("an honest template gets no advice to repair its accesses") {
  Sandbox sandbox;
  const Json row{{"file", "../../templates/vector_add/vector_add.cu"},
                 {"algorithm", "vector_add"},
                 {"emulator_shape", "N=16384"}};
  const Analysis analysis = analyze(counted(row, evaluate(row, sandbox)));
  CHECK(find_rule(analysis.bottleneck.name)->kind == RuleKind::limit);
}

TEST_CASE("the suite has a kernel for most rules, and names only rules that there are") {
  std::set<std::string> shown;
  for (const Json& row : suite()) {
    INFO(row["file"]);
    CHECK(std::filesystem::exists(kFolder / row["file"].get<std::string>()));
    const std::string expected = row["expected"];
    CHECK(find_rule(expected) != nullptr);
    if (row.contains("counted")) CHECK(find_rule(row["counted"].get<std::string>()) != nullptr);
    shown.insert(expected);
  }
  CHECK(shown.size() >= 25);
}

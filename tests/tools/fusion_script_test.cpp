// SPDX-License-Identifier: Apache-2.0
// scripts/measure/measure_fusion.py on the CPU device: separate kernels as one candidate of the fused problem.
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

TEST_CASE("separate champions become one candidate that passes the fused problem's checks and has a ratio") {
  Sandbox box;
  const Json pools{{"B", 2}, {"S", 5}, {"H", 64}}, norms{{"M", 2}, {"N", 64}};
  const Json params{{"dtype", "bfloat16"}};
  box.write("small.json", Json{{"name", "small"},
                               {"question", "Is it worth it?"},
                               {"runs",
                                {{{"name", "pool_l2norm"},
                                  {"algorithm", "mean_pool_l2norm"},
                                  {"params", params},
                                  {"shape", pools},
                                  {"max_evaluations", 1}},
                                 {{"name", "l2norm"},
                                  {"algorithm", "l2norm"},
                                  {"params", params},
                                  {"shape", norms},
                                  {"max_evaluations", 1}}}}}
                              .dump());
  Json all = parse_json(read_file(AK_SOURCE_DIR "/experiments/fusion/pairs.json"));
  Json pairs{{"pairs", Json::array()}};
  for (const Json& pair : all["pairs"])
    if (pair["name"] == "pool_l2norm") pairs["pairs"].push_back(pair);
  REQUIRE(pairs["pairs"].size() == 1);
  box.write("pairs.json", pairs.dump());
  std::filesystem::copy(AK_SOURCE_DIR "/experiments/fusion/mean_pool.cu", box.folder / "mean_pool.cu");
  const auto measure = [&] {
    return run_program(
        {"/usr/bin/python3", AK_SOURCE_DIR "/scripts/measure/measure_fusion.py",
         (box.folder / "out").string(), "--manifest", (box.folder / "small.json").string(), "--pairs",
         (box.folder / "pairs.json").string(), "--device", "emulator", "--program", AK_PROGRAM},
        box.environment);
  };
  const ProgramResult result = measure();
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(read_file(box.folder / "out" / "fusion.csv").find("estimated costs") != std::string::npos);
  const std::string chain = read_file(box.folder / "out" / "chains" / "pool_l2norm.cu");
  CHECK(chain.find("part_1::mean_pool<8>") != std::string::npos);
  CHECK(chain.find("namespace part_2") != std::string::npos);

  // A chain that leaves its second kernel out is wrong, has no ratio, and no sums as its first part is no champion.
  pairs["pairs"][0]["parts"].erase(1);
  pairs["pairs"][0]["parts"][0]["tensors"]["y"] = "y";
  box.write("pairs.json", pairs.dump());
  const ProgramResult wrong = measure();
  INFO(wrong.out << wrong.err);
  CHECK(wrong.exit_code == 1);
  CHECK(read_file(box.folder / "out" / "fusion.csv").find("incorrect") != std::string::npos);
}

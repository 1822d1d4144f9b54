// SPDX-License-Identifier: Apache-2.0
// tests/tools/every_word is a problem that uses every word of the format: a right kernel passes, wrong ones do not.
#include <catch2/catch.hpp>
#include <set>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

const std::string kFolder = AK_SOURCE_DIR "/tests/tools/every_word";

ProgramResult evaluate(Sandbox& box, const std::string& kernel, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"evaluate", kernel,     "--problem",   kFolder,
                                     "--device", "emulator", "--unaudited", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return box.run(arguments);
}

struct Mistake {
  std::string what, right, wrong, output;
};
const Mistake kMistakes[] = {
    {"takes one of a scalar's values for all", "/ (1 + eps)", "/ (1 + 0.25f)", "y"},
    {"takes signed values for unsigned ones", "(low ^ 8) - 8 +", "low +", "sums"},
    {"leaves a 64-bit scalar out", "values + shift", "values", "sums"},
    {"leaves a flag out", "mask[b] != flip", "mask[b]", "chosen"},
    {"packs one value of two", "static_cast<int>(bin[b]) << 4", "0", "packed"},
    {"forgets the last row of a sum", "i < count; i += 32) sum", "i < count - 1; i += 32) sum", "total"},
    {"takes no root", "__float2half(sqrtf(squares))", "__float2half(squares)", "norm"},
};

}  // namespace

TEST_CASE("a problem with every word of the format passes its audit, with and without its optional output") {
  Sandbox box;
  const ProgramResult audit =
      box.run({"algorithms", "audit", "--problem", kFolder, "--device", "emulator", "--json"});
  INFO(audit.out << audit.err);
  REQUIRE(audit.exit_code == 0);
  const Json audits = parse_json(audit.out);
  CHECK(audits.size() == 2);
  std::set<std::string> ignored;
  for (const Json& finding : audits[0]["findings"]) {
    if (finding["mutation"] == "ignored_value" && finding["verdict"] == "rejected")
      ignored.insert(finding["tensor"]);
  }
  CHECK(ignored == std::set<std::string>{"eps", "shift", "flip"});  // the others are constants
}

TEST_CASE("a right kernel passes on every shape, distribution and value of the scalars") {
  Sandbox box;
  for (const char* with_norm : {"true", "false"}) {
    const ProgramResult result = evaluate(box, kFolder + "/kernel.cu", {"--with-norm", with_norm});
    INFO(result.out << result.err);
    CHECK(result.exit_code == 0);
  }
  // The work of the timed shape follows from lengths that are drawn: more than the shortest, less than the longest.
  const double flops = std::stod(box.query("SELECT flops FROM workloads WHERE name = 'b33_s64' LIMIT 1"));
  CHECK(flops > 6 * (33 + 61));
  CHECK(flops < 6 * 33 * 62);
}

TEST_CASE("kernels with a mistake in any of the words are rejected, with the output that shows it") {
  Sandbox box;
  const std::string right = read_file(kFolder + "/kernel.cu");
  for (const Mistake& mistake : kMistakes) {
    const std::size_t at = right.find(mistake.right);
    REQUIRE(at != std::string::npos);
    std::string wrong = right;
    wrong.replace(at, mistake.right.size(), mistake.wrong);
    const ProgramResult result = evaluate(box, box.write("wrong.cu", wrong));
    INFO(mistake.what << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::no_kernel));
    CHECK(result.out.find("every_word: " + mistake.output) != std::string::npos);
  }
}

TEST_CASE("a kernel that does not add to its zeroed output races, and one that clears nothing is right") {
  Sandbox box;
  std::string kernel = read_file(kFolder + "/kernel.cu");
  const std::string add = "atomicAdd(counts + bin[b], lengths[b] * step)";
  kernel.replace(kernel.find(add), add.size(), "counts[bin[b]] = lengths[b] * step");
  const ProgramResult result = evaluate(box, box.write("race.cu", kernel));
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::no_kernel));
}

TEST_CASE("inputs by value and results without dimensions are dumped, shown and exported") {
  Sandbox box;
  const std::string output = (box.folder / "dump").string();
  const ProgramResult dumped = box.run({"problem", "dump", "--problem", kFolder, "--output", output,
                                        "--device", "emulator", "--workload", "b5_s17"});
  INFO(dumped.out << dumped.err);
  REQUIRE(dumped.exit_code == 0);
  const Json sets = parse_json(read_file(output + "/index.json"))["data_sets"];
  std::set<double> values;
  for (const Json& set : sets) {
    for (const Json& input : set["inputs"])
      if (input["name"] == "eps") values.insert(input["value"].get<double>());
    for (const Json& result : set["outputs"])
      if (result["name"] == "total") CHECK(result["shape"].empty());
  }
  CHECK(values == std::set<double>{0.25, 1.0});  // the distributions try all of them

  const ProgramResult exported = box.run({"export", kFolder + "/kernel.cu", "--problem", kFolder, "--output",
                                          (box.folder / "out").string(), "--arch", "sm_90a"});
  INFO(exported.out << exported.err);
  REQUIRE(exported.exit_code == 0);
  const std::string header = read_file(box.folder / "out" / "every_word_with_norm.h");
  CHECK(header.find("float eps, double gain, long long shift, int step, bool flip") != std::string::npos);
  CHECK(header.find("every_word_with_norm_axis_OUT(") != std::string::npos);
  CHECK(header.find("it has to hold zeros") != std::string::npos);
}

TEST_CASE("a folder with nothing of a data set, or with tasks of a benchmark, is refused with what to do") {
  Sandbox box;
  const std::filesystem::path empty = box.folder / "empty", board = box.folder / "board";
  std::filesystem::create_directories(empty);
  std::filesystem::create_directories(board);
  write_file_atomically(
      board / "task.py",
      "class Model(object):\n  pass\ndef get_inputs():\n  return []\ndef get_init_inputs():\n  return []\n");
  for (const char* verb : {"import", "check"}) {
    const ProgramResult nothing = box.run({"exchange", verb, empty.string()});
    CHECK(nothing.exit_code == code(ExitCode::bad_input));
    CHECK_THAT(nothing.err, Catch::Contains("nothing of a data set; expected definitions/"));
    const ProgramResult tasks = box.run({"exchange", verb, board.string()});
    CHECK(tasks.exit_code == code(ExitCode::bad_input));
    CHECK_THAT(tasks.err, Catch::Contains("tasks of a benchmark (1); --problems FOLDER"));
  }
}

TEST_CASE("FlashInfer-Bench sees derived axes as varying ones with a constraint") {
  Sandbox box;
  REQUIRE(evaluate(box, kFolder + "/kernel.cu").exit_code == 0);
  const std::string output = (box.folder / "set").string();
  const ProgramResult result = box.run({"exchange", "export", output});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json definition =
      parse_json(read_file(output + "/definitions/convolution/every_word_with_norm.json"));
  CHECK(definition["axes"]["OUT"] == Json{{"type", "var"}});
  CHECK(definition["constraints"].dump().find("OUT == S - 3 + 1") == std::string::npos);
  CHECK(definition["constraints"].dump().find("OUT == S - R + 1") != std::string::npos);
  CHECK_FALSE(definition["inputs"]["eps"].contains("values"));
  const std::string workloads = read_file(output + "/workloads/convolution/every_word_with_norm.jsonl");
  CHECK(workloads.find("\"OUT\":62") != std::string::npos);
  CHECK(workloads.find("\"type\":\"scalar\"") != std::string::npos);
}

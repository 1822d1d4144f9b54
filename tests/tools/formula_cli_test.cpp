// SPDX-License-Identifier: Apache-2.0
// Formulas of a problem's work next to what its reference does: wrong ones are named.
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

namespace fs = std::filesystem;

struct WrongFormula {
  std::string algorithm, formula, text, says;
};

const WrongFormula kWrongFormulas[] = {
    {"gemm", "flops", "M * N * K", "executes 2 operations for each of the formula's"},
    {"linear", "flops", "2 * M * N", "grow with K by"},
    {"linear", "flops", "2 * M * N * N", "grow with K by"},
    {"linear", "flops", "2 * M * N * K * K // 64", "with K the formula's growth is 4 times as large"},
    {"linear", "flops", "2 * M * N * K * K", "the formula says"},
    {"linear", "bytes_read", "M * K * sizeof_x + N * sizeof_bias", "are touched at"},
    {"linear", "bytes_written", "M * N * sizeof_y // 2", "are touched at"},
    {"vector_add", "bytes_read", "N * sizeof_a", "are touched at"},
    {"vector_add", "flops", "2 * N", "the formula says"},
};

fs::path with_formula(const Sandbox& box, const WrongFormula& wrong) {
  fs::path folder = box.folder / "own";
  fs::remove_all(folder);
  fs::copy(fs::path(AK_SOURCE_DIR "/templates") / wrong.algorithm, folder);
  Json json = parse_json(read_file(folder / "problem.json"));
  json[wrong.formula] = wrong.text;
  write_file_atomically(folder / "problem.json", json.dump(2));
  return folder;
}

/// On shapes that begin with one small workload.
std::vector<std::string> compare_formulas(const fs::path& problem, const std::string& algorithm) {
  return {"algorithms", "audit",
          "--problem",  problem.string(),
          "--device",   "emulator",
          "--dtype",    "float32",
          "--workload", algorithm == "vector_add" ? "n31" : "m17_n40_k72",
          "--formulas", "--json"};
}

/// The finding of a formula.
Json finding_of(const Json& audit, const std::string& formula) {
  for (const Json& finding : audit["findings"])
    if (finding["mutation"] == formula) return finding;
  return nullptr;
}

}  // namespace

TEST_CASE("a formula with a wrong factor, without an axis or without an input is named") {
  Sandbox box;
  for (const WrongFormula& wrong : kWrongFormulas) {
    const ProgramResult result = box.run(compare_formulas(with_formula(box, wrong), wrong.algorithm));
    INFO(wrong.algorithm << " " << wrong.formula << " = " << wrong.text << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::audit));
    const Json audit = parse_json(result.out).at(0);
    CHECK(audit["formulas_hold"] == false);
    for (const std::string formula : {"flops", "bytes_read", "bytes_written"}) {
      const Json finding = finding_of(audit, formula);
      CHECK(finding["kind"] == "formula");
      CHECK(finding["as_expected"] == (formula != wrong.formula));
    }
    CHECK(finding_of(audit, wrong.formula)["message"].get<std::string>().find(wrong.says) !=
          std::string::npos);
  }
}

TEST_CASE("a formula is exempt with a reason, and a reason for what is no formula is refused") {
  Sandbox box;
  const fs::path folder = with_formula(box, kWrongFormulas[0]);
  const auto exempt = [&](const std::string& formula) {
    Json json = parse_json(read_file(folder / "problem.json"));
    json["audit_exempt"] = {{formula, "it is half on purpose"}};
    write_file_atomically(folder / "problem.json", json.dump(2));
    return box.run(compare_formulas(folder, kWrongFormulas[0].algorithm));
  };
  const ProgramResult result = exempt("flops");
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(finding_of(parse_json(result.out).at(0), "flops")["verdict"] == "exempt");
  const ProgramResult refused = exempt("flop");
  INFO(refused.err);
  CHECK(refused.exit_code != 0);
  CHECK(refused.err.find("flops, bytes_read, bytes_written") != std::string::npos);
}

TEST_CASE("--formulas adds to a record of mutations that is there, and refuses where there is none") {
  Sandbox box;
  const fs::path folder = box.folder / "mine" / "vector_add";
  fs::create_directories(folder.parent_path());
  fs::copy(AK_SOURCE_DIR "/templates/vector_add", folder);
  const Json shipped = parse_json(read_file(folder / "audit.json"));
  write_file_atomically(folder / "audit.json",
                        Json{{"params", shipped["params"]}, {"passed", shipped["passed"]}}.dump());
  const std::vector<std::string> record{"algorithms", "audit",    "--problem",  folder.string(),
                                        "--device",   "emulator", "--formulas", "--record"};
  const ProgramResult added = box.run(record);
  INFO(added.out << added.err);
  CHECK(added.exit_code == 0);
  CHECK(parse_json(read_file(folder / "audit.json")) == shipped);
  CHECK(shipped["formulas"] == true);
  fs::remove(folder / "audit.json");
  const ProgramResult refused = box.run(record);
  CHECK(refused.exit_code == code(ExitCode::usage));
  CHECK(is_one_line(refused.err));
}

TEST_CASE("who uses a problem of one's own with a formula that is off is told, and goes on") {
  Sandbox box;
  const fs::path folder = with_formula(box, {"vector_add", "bytes_read", "N * sizeof_a", ""});
  fs::remove(folder / "audit.json");
  const ProgramResult result =
      box.run({"generate", "--problem", folder.string(), "--device", "none", "--arch", "sm_90a", "--output",
               (box.folder / "k.cu").string(), "-q", "--max-evaluations", "1"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("note: the formula \"bytes_read\" of vector_add_fp32") != std::string::npos);
}

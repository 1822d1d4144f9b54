// SPDX-License-Identifier: Apache-2.0
// A set of kernels from the command line to what it leaves, on the CPU device.
#include <catch2/catch.hpp>
#include <fstream>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

namespace ak::testing {
namespace {

/// y = x + 1, by a kernel that either launches two more or works much longer on every element: the one costs more on short
/// vectors, the other on long ones.
constexpr const char* kProblem = R"({
  "name": "add_one", "summary": "y = x + 1", "op_type": "elementwise",
  "params": {"dtype": {"type": "choice", "choices": ["float32"], "default": "float32", "help": "element type"}},
  "definition": {"name": "add_one_{dtype}", "axes": {"N": {"type": "var"}},
    "inputs": {"x": {"shape": ["N"], "dtype": "dtype"}}, "outputs": {"y": {"shape": ["N"], "dtype": "dtype"}}},
  "flops": "N", "bytes_read": "N * sizeof_x", "bytes_written": "N * sizeof_y", "tolerance": {"reason": "exact"},
  "distributions": [{"name": "normal", "kind": "normal"}], "reference": "def run(x):\n    return x + 1\n"})";
constexpr const char* kShapes = R"({"name": "n1", "axes": {"N": 1}, "role": "check", "tier": "emulator"}
{"name": "n16", "axes": {"N": 16}, "role": ["check", "time"], "tier": "emulator"}
{"name": "n64", "axes": {"N": 64}, "role": ["check", "time"], "tier": "emulator"}
{"name": "n40000", "axes": {"N": 40000}, "role": ["check", "time"], "tier": "emulator"}
{"name": "any", "axes": {"N": [1, 50000]}, "role": "held_out", "tier": "emulator"}
)";
constexpr const char* kReference = R"code(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}]} */
__global__ void k(const scalar_t* x, out_t* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = out_t(accum_t(x[i]) + accum_t(1));
}
)code";
constexpr const char* kTemplate = R"code(/* alphakernel
{"tunables": {"SLOW": {"values": [1, 0], "default": 1}},
 "launches": [{"kernel": "prelude", "grid": [1], "block": [32], "args": ["y"], "when": "not SLOW"},
              {"kernel": "prelude", "grid": [1], "block": [32], "args": ["y"], "when": "not SLOW"},
              {"kernel": "add", "grid": ["ceil_div(N, 128)"], "block": [128], "args": ["x", "y", {"i64": "N"}]}]} */
__global__ void prelude(scalar_t* y) { y[0] = 0; }
__global__ void add(const scalar_t* x, scalar_t* y, long long n) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= n) return;
  scalar_t sum = x[i];
#if AK_SLOW
  for (int round = 0; round < 400; ++round) sum = __shfl_xor_sync(__activemask(), sum, 0);
#endif
  y[i] = sum + 1;
}
)code";

struct SetSandbox : Sandbox {
  SetSandbox() {
    std::filesystem::create_directories(problem());
    for (const auto& [name, text] : {std::pair{"problem.json", kProblem},
                                     {"workloads.jsonl", kShapes},
                                     {"reference.cu", kReference},
                                     {"add.cu", kTemplate}})
      std::ofstream(problem() / name) << text;
  }
  [[nodiscard]] std::filesystem::path problem() const { return folder / "add_one"; }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder / name; }

  std::string evaluations = "6";
  ProgramResult make(const std::vector<std::string>& extra = {}) {
    std::vector<std::string> arguments{"generate",        "--problem",   problem().string(),
                                       "--device",        "emulator",    "--arch",
                                       "sm_90a",          "--seed",      "1",
                                       "--deterministic", "--unaudited", "--max-evaluations",
                                       evaluations,       "--output",    file("k.cu").string()};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return run(arguments);
  }
};

}  // namespace

TEST_CASE(
    "--per-shape ends with one file that holds the best kernel of every shape, and says which takes which") {
  SetSandbox box;
  const ProgramResult made = box.make({"--per-shape"});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  CHECK_THAT(made.err, Catch::Contains("shape 1/3 n64:"));
  CHECK_THAT(made.out, Catch::Contains("set: 2 members, 0.0 % slower"));
  CHECK_THAT(made.out, Catch::Contains("-> member 2: add.cu SLOW=0"));
  CHECK_THAT(made.out, Catch::Contains("held-out shapes: right on all"));

  const Json result = parse_json(read_file(box.file("k.result.json")));
  CHECK(result["set"]["members"].size() == 2);
  const std::string condition = result["set"]["members"][0]["shapes"].get<std::string>();
  CHECK_THAT(made.out, Catch::Contains(condition + " -> member 1: add.cu SLOW=1"));
  CHECK_THAT(condition, Catch::StartsWith("where least: "));
  CHECK(result["set"]["members"][1]["fallback"] == true);
  CHECK(result["set"]["worst_ratio"] == 1);
  CHECK(result["set"]["regret"]["shapes"] == 16);
  CHECK(result["set"]["regret"]["low"] <= result["set"]["regret"]["mean_ratio"]);
  CHECK_THAT(read_file(box.file("k.explanation.md")), Catch::Contains("## Which kernel takes which shape"));

  // The file by itself is a candidate like any other.
  const ProgramResult evaluated = box.run({"evaluate", box.file("k.cu").string(), "--problem",
                                           box.problem().string(), "--device", "emulator", "--json"});
  INFO(evaluated.out << evaluated.err);
  CHECK(evaluated.exit_code == 0);
  CHECK_THAT(evaluated.out, Catch::Contains("\"status\":\"ok\""));

  CHECK(box.query("SELECT number, fallback FROM kernel_members m JOIN searches s ON "
                  "s.best_variant_id = m.variant "
                  "JOIN set_searches t ON t.search_id = s.id WHERE t.role = 'set' ORDER BY number") ==
        "1,0\r\n2,1\r\n");
  CHECK(box.query("SELECT count(*) FROM set_members WHERE number = 1 AND condition = '" + condition + "'") ==
        "1\r\n");
  CHECK(box.query("SELECT count(*), sum(held_out) FROM set_shapes") == "19,16\r\n");
  // Lineage: the set was made from its members.
  CHECK(box.query("SELECT count(*) FROM variant_parents p JOIN kernel_sets k ON k.variant_id = p.variant_id "
                  "JOIN set_members m "
                  "ON m.set_id = k.id AND m.variant_id = p.parent_id") == "2\r\n");
  CHECK(box.query("SELECT count(*) FROM best_kernels b JOIN kernel_sets k ON k.variant_id = b.variant") ==
        "1\r\n");
}

TEST_CASE("a set is exported, reported and looked up as any kernel") {
  SetSandbox box;
  REQUIRE(box.make({"--per-shape", "--quiet"}).exit_code == 0);
  const ProgramResult exported =
      box.run({"export", box.file("k.cu").string(), "--problem", box.problem().string(), "--arch", "sm_90a",
               "--output", box.file("out").string()});
  INFO(exported.out << exported.err);
  REQUIRE(exported.exit_code == 0);
  const std::string launcher = read_file(box.file("out") / "add_one_fp32_launch.cu");
  CHECK_THAT(launcher, Catch::Contains("ak_MEMBER"));
  CHECK_THAT(launcher, Catch::Contains("member_2::prelude"));

  const ProgramResult report = box.run({"report", "--format", "markdown"});
  INFO(report.err);
  CHECK(report.exit_code == 0);
  CHECK_THAT(report.out, Catch::Contains("where least: "));

  const ProgramResult best = box.run({"best", "export", "--output", box.file("best.json").string()});
  INFO(best.out << best.err);
  CHECK(best.exit_code == 0);
  CHECK_THAT(read_file(box.file("best.json")), Catch::Contains("add_one_fp32.set.cu"));
}

TEST_CASE("the shapes of a set share what their searches found: what does not build is tried once") {
  SetSandbox box;
  std::string source = kTemplate;
  source.replace(source.find("[1, 0]"), 6, "[1, 0, 2]");
  source.insert(source.find("  y[i] = sum + 1;"), "#if AK_SLOW == 2\n#error no such variant\n#endif\n");
  std::ofstream(box.problem() / "add.cu") << source;
  box.evaluations = "9";
  const ProgramResult made = box.make({"--per-shape"});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  const std::string of_shapes =
      " FROM evaluations e JOIN set_searches t ON t.search_id = e.search_id WHERE t.role = 'shape'";
  CHECK(box.query("SELECT count(*)" + of_shapes + " AND e.status = 'compile_error'") == "1\r\n");
  CHECK(box.query("SELECT count(*)" + of_shapes + " AND e.status = 'ok'") == "6\r\n");
  CHECK_THAT(made.err, Catch::Contains("shape 2/3 n16:"));
  CHECK_THAT(made.err, Catch::Contains("after 3 answers of 1 device and 1 shape"));
}

TEST_CASE("a shape whose share ends before anything passes is given what passed on others") {
  SetSandbox box;
  std::string source = kTemplate;
  source.insert(source.find("  y[i] = sum + 1;"), "#if AK_SLOW\n  if (n > 30000) sum += 1;\n#endif\n");
  std::ofstream(box.problem() / "add.cu") << source;
  box.evaluations = "4";  // of each shape the start, and of one of the others a second point
  const ProgramResult made = box.make({"--per-shape"});
  INFO(made.out << made.err);
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.err, Catch::Contains("n40000: nothing passed"));
  CHECK_THAT(made.out, Catch::Contains("every shape -> member 1: add.cu SLOW=0"));
}

TEST_CASE("the same seed makes the same set") {
  SetSandbox one, other;
  REQUIRE(one.make({"--per-shape", "--quiet"}).exit_code == 0);
  REQUIRE(other.make({"--per-shape", "--quiet"}).exit_code == 0);
  // The folder of the problem is part of the file.
  const auto text = [](const SetSandbox& box) {
    const std::string kernel = read_file(box.file("k.cu"));
    return kernel.substr(kernel.find("\"let\""));
  };
  CHECK(text(one) == text(other));
}

TEST_CASE("a session and an experiment make sets by a key of their manifests") {
  SetSandbox box;
  std::ofstream(box.file("night.json"))
      << R"({"name": "night", "runs": [{"problem": "add_one", "name": "add_one",
    "per_shape": true, "device": "emulator", "arch": "sm_90a", "seed": 1, "deterministic": true, "unaudited": true, "max_evaluations": 6}]})";
  const ProgramResult session = box.run({"session", "start", box.file("night.json").string(), "--foreground",
                                         "--output-folder", box.folder.path().string()});
  INFO(session.out << session.err);
  CHECK(session.exit_code == 0);
  CHECK(box.query("SELECT count(*) FROM set_members") == "2\r\n");

  std::ofstream(box.file("shapes.json")) << R"({"name": "shapes", "question": "Is a set enough?",
    "runs": [{"problem": "add_one", "name": "add_one", "per_shape": true, "device": "emulator", "arch": "sm_90a", "max_evaluations": 6}],
    "expectations": [{"name": "members", "sql": "SELECT count(*) FROM set_members", "equals": 2}]})";
  const ProgramResult experiment = box.run(
      {"experiment", "run", box.file("shapes.json").string(), "--output", box.file("results").string()});
  INFO(experiment.out << experiment.err);
  CHECK(experiment.exit_code == 0);
}

TEST_CASE("what cannot be a set is refused before anything runs") {
  SetSandbox box;
  const ProgramResult copies = box.make({"--prepared-copies", "2"});
  CHECK(copies.exit_code == static_cast<int>(ExitCode::usage));
  CHECK_THAT(copies.err, Catch::Contains("give --per-shape, too"));
  const ProgramResult many = box.make({"--per-shape", "--prepared-copies", "9"});
  CHECK(many.exit_code == static_cast<int>(ExitCode::usage));
  CHECK_THAT(many.err, Catch::Contains("--prepared-copies"));
  const ProgramResult nowhere =
      box.run({"generate", "--problem", box.problem().string(), "--device", "none", "--arch", "sm_90a",
               "--unaudited", "--per-shape", "--output", box.file("k.cu").string()});
  CHECK(nowhere.exit_code == static_cast<int>(ExitCode::usage));
  CHECK_THAT(nowhere.err, Catch::Contains("needs a device"));
}

}  // namespace ak::testing

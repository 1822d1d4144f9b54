// SPDX-License-Identifier: Apache-2.0
// Experiments as a user meets them: real binary, real manifests, the CPU device.
#include <catch2/catch.hpp>
#include <csignal>

#include "app/experiment/experiment_runs.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/daily_sample.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A manifest of one run of vector_add with `more` keys of the run, and these expectations.
std::string manifest(const std::string& more, const std::string& expectations = "[]") {
  return R"({"name": "sums", "question": "Is a sum a sum?", "runs": [{"algorithm": "vector_add")" + more +
         R"(}], "expectations": )" + expectations + "}";
}

struct Experiment : Sandbox {
  std::string results = (folder / "results").string();

  ProgramResult start(const std::string& file, const std::vector<std::string>& extra = {},
                      const Signal& signal = {}) {
    std::vector<std::string> arguments{"experiment", "run",      file,    "--device",
                                       "emulator",   "--output", results, "--quiet"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return run(arguments, signal);
  }
  Json report() const { return parse_json(read_file(results + "/report.json")); }
};

/// What may differ between two runs: times of day and how long things took.
Json without_times(Json report) {
  for (Json& run : report["runs"]) run.erase("seconds");
  return report;
}

struct WrongManifest {
  std::string text;
  std::vector<std::string> words;  ///< of the message
};

}  // namespace

TEST_CASE(
    "a mistake in a manifest is reported with file, field and what was expected, before anything runs") {
  const std::string ok = R"([{"name": "a", "sql": "SELECT 1", "equals": 1}])";
  const std::vector<WrongManifest> mistakes{
      {"{", {"not JSON"}},
      {R"({"name": "sums", "runs": [{"algorithm": "vector_add"}]})", {"'question' is missing"}},
      {R"({"name": "sums", "question": "?", "runs": []})", {"runs", "at least one run"}},
      {R"({"name": "other", "question": "?", "runs": [{"algorithm": "vector_add"}]})",
       {"name: expected", "sums"}},
      {R"({"name": "sums", "question": "?", "rums": []})", {"unknown key 'rums'; did you mean 'runs'?"}},
      {manifest(R"(, "sed": 3)"), {"runs[0]: unknown key 'sed'; did you mean 'seed'?"}},
      {manifest(R"(, "seed": "3")"), {"runs[0].seed", "\"3\""}},
      {manifest(R"(, "seed": 0)"), {"runs[0].seed: expected an integer from 1 to"}},
      {manifest(R"(, "max_minutes": -1)"), {"runs[0].max_minutes: expected a time above 0"}},
      {manifest(R"(, "strategy": "randon")"),
       {"runs[0].strategy: unknown strategy 'randon'; did you mean 'random'?"}},
      {manifest(R"(, "proposer": "oracle")"), {"runs[0].proposer: expected \"search\""}},
      {manifest(R"(, "name": "a b")"), {"runs[0].name: expected a name"}},
      {manifest(R"(, "problem": "x/")"), {"runs[0]: expected 'algorithm' or 'problem', one of them"}},
      {manifest(R"(, "set": {"BLOCK": []})"), {"runs[0].set.BLOCK: expected an integer"}},
      {manifest(R"(, "shape": {"N": "many"})"), {"runs[0].shape.N"}},
      {manifest(R"(, "shape": [])"), {"runs[0].shape: expected at least one shape"}},
      {manifest(R"(, "shape": [{"N": 8}, {"N": 0}])"), {"runs[0].shape[1].N"}},
      {manifest(R"(}, {"algorithm": "vector_add")"), {"runs[1]: another run is called 'vector_add' too"}},
      {manifest("", R"([{"name": "a", "sql": "SELECT 1"}])"), {"expectations[0]: expected a bound"}},
      {manifest("", R"([{"name": "a", "sql": "SELECT 1", "equals": 1, "needs": "tpu"}])"),
       {"expectations[0].needs: expected \"gpu\""}},
      {manifest("", R"([{"name": "a", "sql": "SELECT {vector_ad}", "equals": 1}])"),
       {"expectations[0].sql: no run is called 'vector_ad'; did you mean 'vector_add'?"}},
      {manifest("", R"([{"name": "a", "sql": "SELECT nonsense", "equals": 1}])"),
       {"expectation 'a'", "no such column"}},
      {manifest("", R"([{"name": "a", "sql": "SELECT 1, 2", "equals": 1}])"),
       {"expectation 'a'", "2 columns"}},
      {manifest("", R"([{"name": "a", "sql": "DELETE FROM searches", "equals": 1}])"), {"only SELECT"}},
      {R"({"name": "sums", "question": "?", "runs": [{"algorithm": "vectoradd"}]})",
       {"run 'vectoradd'", "did you mean 'vector_add'?"}},
      {manifest(R"(, "params": {"dtpe": "float16"})"), {"run 'vector_add'", "did you mean 'dtype'?"}},
      {manifest(R"(, "params": {"dtype": "int8"})"), {"run 'vector_add'", "dtype cannot be 'int8'"}},
      {manifest(R"(, "template": "vector_ad.cu")"), {"did you mean 'vector_add.cu'?"}},
      {manifest(R"(, "set": {"BLOK": 64})"), {"did you mean 'BLOCK'?"}},
      {manifest(R"(, "set": {"BLOCK": 65})"), {"BLOCK cannot be 65"}},
  };
  for (const WrongManifest& wrong : mistakes) {
    Experiment box;
    const ProgramResult result = box.start(box.write("sums.json", wrong.text));
    INFO(wrong.text << "\n" << result.err);
    CHECK(result.exit_code == code(ExitCode::bad_input));
    CHECK(result.err.find("sums.json") != std::string::npos);
    for (const std::string& word : wrong.words) CHECK(result.err.find(word) != std::string::npos);
    CHECK_FALSE(box.exists("results/report.json"));
  }
}

TEST_CASE("an experiment leaves its database, tables, kernels, manifest, environment and report") {
  Experiment box;
  const std::string file = box.write(
      "sums.json",
      manifest(
          R"(, "params": {"dtype": "float16"}, "set": {"BLOCK": [64, 128], "UNROLL": 1}, "max_evaluations": 3)",
          R"([{"name": "three were tried", "sql": "SELECT evaluations FROM experiments WHERE search = {vector_add}", "equals": 3, "unit": "variants"},
                   {"name": "fast", "sql": "SELECT 1", "at_least": 2, "needs": "gpu"}])"));
  const ProgramResult result = box.start(file);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(read_file(box.results + "/manifest.json") == read_file(file));
  for (const char* name :
       {"experiment.db", "benchmark_results.csv", "leaderboard.csv", "kernels/vector_add.cu"})
    CHECK(box.exists(std::string("results/") + name));
  CHECK_FALSE(box.exists("results/experiment.db-wal"));

  const Json report = box.report();
  CHECK(report["status"] == "complete");
  CHECK(report["exit_code"] == 0);
  CHECK(report["copy_bandwidth_gbps"].is_null());
  CHECK(report["runs"][0]["evaluations"] == 3);
  CHECK(report["results"][0]["run"] == "vector_add");
  CHECK(report["results"][0]["emulated_cost_us"].get<double>() > 0);
  CHECK(report["results"][0]["latency_ms"].is_null());
  CHECK(report["expectations"][0]["status"] == "met");
  CHECK(report["expectations"][0]["value"] == 3);
  CHECK(report["expectations"][1]["status"] == "skipped");

  const std::string text = read_file(box.results + "/report.md");
  for (const char* words :
       {"# sums", "Is a sum a sum?", "1 of 2 expectations met, 1 skipped", "emulated cost",
        "three were tried", "CPU emulator of sm_90a", "UNROLL=1", "NVRTC"})
    CHECK(text.find(words) != std::string::npos);
  const Json environment = parse_json(read_file(box.results + "/environment.json"));
  CHECK(environment["command"].get<std::string>().find("experiment run") != std::string::npos);
  CHECK(environment["devices"][0]["kind"] == "emulator");
  CHECK(!environment["commit"].get<std::string>().empty());

  box.environment["ALPHAKERNEL_DB"] = box.results + "/experiment.db";
  CHECK(box.query("SELECT DISTINCT tunables ->> 'UNROLL', tunables ->> 'BLOCK' IN (64, 128) FROM variants") ==
        "1,1\r\n");
  CHECK(
      box.query("SELECT count(*) FROM benchmark_results WHERE occupancy IS NULL OR register_usage IS NULL OR "
                "shared_mem_usage IS NULL OR output_correct IS NULL OR max_error IS NULL") == "0\r\n");
}

TEST_CASE("on the emulator a rerun of a manifest gives the same tables, kernels and report but for times") {
  Experiment first, second;
  const std::string text = manifest(R"(, "max_evaluations": 4, "seed": 7)");
  REQUIRE(first.start(first.write("sums.json", text)).exit_code == 0);
  REQUIRE(second.start(second.write("sums.json", text)).exit_code == 0);
  for (const char* name : {"/benchmark_results.csv", "/leaderboard.csv", "/kernels/vector_add.cu"}) {
    INFO(name);
    CHECK(read_file(first.results + name) == read_file(second.results + name));
  }
  CHECK(without_times(first.report()) == without_times(second.report()));
  const std::string counts =
      "SELECT w.name, k.name, k.value FROM metrics k JOIN workloads w ON w.id = k.workload_id "
      "ORDER BY k.evaluation_id, 1, 2";
  first.environment["ALPHAKERNEL_DB"] = first.results + "/experiment.db";
  second.environment["ALPHAKERNEL_DB"] = second.results + "/experiment.db";
  CHECK(first.query(counts).size() > 100);
  CHECK(first.query(counts) == second.query(counts));
}

TEST_CASE("an expectation that is missed, or has no value, is in the report and in the exit code") {
  Experiment box;
  const std::string file = box.write(
      "sums.json", manifest(R"(, "max_evaluations": 1)",
                            R"([{"name": "many", "sql": "SELECT count(*) FROM variants", "at_least": 100},
                                {"name": "none", "sql": "SELECT NULL", "at_most": 1},
                                {"name": "one", "sql": "SELECT count(*) FROM variants", "at_least": 1, "at_most": 1}])"));
  const ProgramResult result = box.start(file);
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::expectation));
  CHECK(box.report()["exit_code"] == code(ExitCode::expectation));
  CHECK(box.report()["expectations"][0]["status"] == "missed");
  CHECK(box.report()["expectations"][1]["status"] == "no_value");
  CHECK(box.report()["expectations"][2]["status"] == "met");
  CHECK(read_file(box.results + "/report.md").find("| many | at least 100 | 1 |  | missed |") !=
        std::string::npos);

  // The same folder again: refused, then replaced; a folder of something else never.
  const ProgramResult refused = box.start(file);
  CHECK(refused.exit_code == code(ExitCode::output));
  CHECK(refused.err.find("--force") != std::string::npos);
  CHECK(box.start(file, {"--force"}).exit_code == code(ExitCode::expectation));
  CHECK(box.report()["runs"].size() == 1);
  std::filesystem::remove(box.results + "/manifest.json");
  CHECK(box.start(file, {"--force"}).exit_code == code(ExitCode::output));
  CHECK(box.exists("results/experiment.db"));
}

TEST_CASE("Ctrl-C ends an experiment with a report of what there is, and list shows it") {
  Experiment box;
  const std::string file =
      box.write("sums.json", R"({"name": "sums", "question": "Q?", "runs": [{"algorithm": "vector_add"},
                                {"algorithm": "reduce_sum"}]})");
  const ProgramResult result =
      box.start(file, {}, {.number = SIGINT, .after_file = box.folder / "results/kernels/vector_add.cu"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::interrupted));
  CHECK(box.report()["status"] == "interrupted");
  CHECK(box.report()["runs"].size() == 1);
  CHECK(box.report()["results"][0]["run"] == "vector_add");

  const std::filesystem::path known = box.folder / "experiments";
  std::filesystem::create_directories(known / "results");
  std::filesystem::rename(box.results, known / "results/first");
  std::filesystem::copy_file(file, known / "sums.json");
  std::filesystem::copy_file(box.write("torn.json", "{"), known / "torn.json");
  box.environment["ALPHAKERNEL_EXPERIMENTS"] = known.string();
  const Json list = parse_json(box.run({"experiment", "list", "--json"}).out);
  const auto named = [](const Json& entries, const char* key, const std::string& value) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const Json& e) { return e[key].get<std::string>().ends_with(value); });
  };
  const auto experiment = named(list["experiments"], "name", "sums");
  REQUIRE(experiment != list["experiments"].end());
  CHECK((*experiment)["question"] == "Q?");
  CHECK((*experiment)["runs"].size() == 2);
  CHECK_FALSE(experiment->contains("broken"));
  const auto torn = named(list["experiments"], "name", "torn");
  REQUIRE(torn != list["experiments"].end());
  CHECK((*torn)["broken"].get<std::string>().find("torn.json") != std::string::npos);
  const auto interrupted = named(list["results"], "folder", "results/first");
  REQUIRE(interrupted != list["results"].end());
  CHECK((*interrupted)["status"] == "interrupted");
}

TEST_CASE(
    "an experiment in pieces, and one that was interrupted, go on where they ended, and end as one that ran "
    "through") {
  Experiment box;
  const std::string file = box.write("sums.json", R"({"name": "sums", "question": "Q?", "runs": [
        {"algorithm": "vector_add", "name": "first", "shape": {"N": 1000}, "max_evaluations": 2},
        {"algorithm": "reduce_sum", "name": "second", "max_evaluations": 6},
        {"algorithm": "vector_add", "name": "third", "shape": {"N": 1000}, "max_evaluations": 1}],
        "expectations": [{"name": "the last search", "equals": 4, "sql": "SELECT {third}"}]})");
  const ProgramResult piece = box.start(file, {"--runs", "1", "--resume"});
  INFO(piece.out << piece.err);
  CHECK(piece.exit_code == 0);
  CHECK(box.report()["status"] == "interrupted");
  CHECK(box.report()["runs"].size() == 1);

  const ProgramResult other = box.start(file, {"--resume", "--max-evaluations", "1"});
  CHECK(other.exit_code == code(ExitCode::usage));
  CHECK(other.err.find("was begun with other flags") != std::string::npos);

  const ProgramResult killed = box.start(
      file, {"--resume"}, {.number = SIGINT, .after_file = box.folder / "results/kernels/second.cu"});
  CHECK(killed.exit_code == code(ExitCode::interrupted));

  const ProgramResult whole = box.start(file, {"--resume"});
  INFO(whole.out << whole.err);
  const Json report = box.report();
  CHECK(report["status"] == "complete");
  REQUIRE(report["runs"].size() == 3);
  const char* const names[] = {"first", "second", "third"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(report["runs"][i]["run"] == names[i]);
    CHECK(report["runs"][i]["status"] == "finished");
  }
  CHECK(report["runs"][0]["search"] == 1);  // it was not run again
  CHECK(report["runs"][1]["search"] == 3);  // it was
  for (const Json& result : report["results"]) CHECK(result["search"] != 2);
  CHECK(report["expectations"][0]["value"] == 4);

  box.write("sums.json",
            R"({"name": "sums", "question": "Another?", "runs": [{"algorithm": "vector_add"}]})");
  const ProgramResult changed = box.start(file, {"--resume"});
  CHECK(changed.exit_code == code(ExitCode::output));
  CHECK(changed.err.find("results of another manifest") != std::string::npos);
}

TEST_CASE("every shipped manifest is whole: its problems, params, templates and tunables are there") {
  app::ExperimentFlags nowhere;
  nowhere.device = "none";
  nowhere.arch = "sm_90a";
  std::size_t shipped = 0;
  for (const auto& file : app::list_manifests()) {
    if (!drawn_today(shipped++, 3)) continue;
    INFO(file);
    const app::Manifest manifest = app::read_manifest(file);
    std::vector<app::SearchRun> runs;
    REQUIRE_NOTHROW(runs = app::prepare_runs(manifest, nowhere, {}));
    CHECK(runs.size() == manifest.runs.size());
  }
  CHECK(shipped >= 7);
}

TEST_CASE("the experiment on transposes runs small on the emulator, with no bank conflict") {
  Experiment box;
  const ProgramResult result = box.start("transpose_inplace", {"--max-evaluations", "1"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json report = box.report();
  int met = 0;
  for (const Json& expectation : report["expectations"]) met += expectation["status"] == "met";
  CHECK(met == 3);
  CHECK(report["runs"].size() == 4);
}

// SPDX-License-Identifier: Apache-2.0
// What helps a person at the command line: help, suggestions, defaults, one way to name kernels, next steps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The program's folder is a folder of the test while it lives.
struct InFolder {
  explicit InFolder(const fs::path& folder) : before(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;
  fs::path before;
};

const std::vector<std::string> kBuildOne{"generate", "--algorithm",       "vector_add", "--arch",
                                         "sm_90a",   "--device",          "none",       "--seed",
                                         "1",        "--max-evaluations", "1"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& extra) {
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

}  // namespace

TEST_CASE("help has its options in groups and no line wider than 80 characters, and verbs have groups too") {
  Sandbox box;
  const std::string help = box.run({"generate", "--help", "--algorithm", "softmax"}).out;
  std::size_t from = 0;
  for (const char* group :
       {"\nProblem:\n", "\nParameters of softmax:\n", "\nMain:\n", "\nSearch:\n", "\nLanguage models:\n",
        "\nBudget:\n", "\nDevice and target:\n", "\nOutput:\n", "\nAdvanced:\n"}) {
    INFO(group << "\n" << help);
    const std::size_t at = help.find(group, from);
    REQUIRE(at != std::string::npos);
    from = at;
  }
  std::istringstream lines(help.substr(0, help.find("\nExamples:")));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 80);
  }
  const std::string verbs = box.run({"--help"}).out;
  for (const char* group : {"Find kernels:", "Judge and use a kernel:", "Look at what was found:"})
    CHECK(has(verbs, group));
}

TEST_CASE("a closed choice that is misspelt is answered with the nearest one") {
  Sandbox box;
  const std::string out = (box.folder / "k.cu").string();
  const auto generate = [&](std::vector<std::string> extra) {
    return with(with(kBuildOne, {"--output", out}), extra);
  };
  struct Row {
    std::vector<std::string> arguments;
    std::string meant;
  };
  const std::vector<Row> rows{
      {{"genrate"}, "generate"},
      {{"db", "marge"}, "merge"},
      {{"experiment", "lst"}, "list"},
      {{"model", "fti"}, "fit"},
      {{"session", "statsu"}, "status"},
      {{"query", "leaderbord"}, "leaderboard"},
      {{"query", "leaderboard", "definitoin=x"}, "definition"},
      {{"query", "--format", "jsno", "SELECT 1"}, "json"},
      {{"compare", "--format", "markdwon", "1", "2"}, "markdown"},
      {{"devices", "show", "h20O"}, "h200"},
      {{"operations", "cal"}, "call"},
      {generate({"--strategy", "bayes"}), "bayesian"},
      {generate({"--proposer", "serach"}), "search"},
      {generate({"--dtype", "bf61"}), "bf16"},
      {generate({"--dtyp", "bf16"}), "--dtype"},
      {{"generate", "--algorithm", "vector_add", "--device", "emulater", "--output", out}, "emulator"},
      {{"generate", "--algorithm", "vector_add", "--device", "none", "--arch", "hoper", "--output", out},
       "hopper"},
      {generate({"--set", "BLOK=128"}), "BLOCK"},
      {generate({"--template", "vector_ad.cu"}), "vector_add"},
      {{"generate", "--algorithm", "attention", "--output", out}, "flash_attention"},
  };
  for (const Row& row : rows) {
    const ProgramResult result = box.run(row.arguments);
    INFO(fmt::format("{}", fmt::join(row.arguments, " ")) << "\n" << result.err);
    CHECK(result.exit_code == code(ExitCode::usage));
    CHECK(has(result.err, "did you mean '" + row.meant));
    CHECK(is_one_line(result.err));
  }
}

TEST_CASE("parameters without an algorithm are answered with what has to be named first") {
  Sandbox box;
  const ProgramResult result = box.run({"generate", "--dtype", "bf16"});
  CHECK(result.exit_code == code(ExitCode::usage));
  CHECK(has(result.err, "need --algorithm NAME or --problem DIR"));
}

TEST_CASE("without --output the kernel has its definition's name, and no run replaces another's kernel") {
  Sandbox box;
  const InFolder folder(box.folder.path());
  const ProgramResult first = box.run(kBuildOne);
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(has(first.err, "note: the kernel goes to vector_add_fp32.cu"));
  const std::string kernel = read_file(box.folder / "vector_add_fp32.cu");
  REQUIRE(box.run(kBuildOne).exit_code == 0);
  CHECK(read_file(box.folder / "vector_add_fp32.cu") == kernel);
  CHECK(box.exists("vector_add_fp32_2.result.json"));
  const ProgramResult named = box.run(with(kBuildOne, {"--output", "vector_add_fp32.cu"}));
  CHECK(has(named.err, "note: vector_add_fp32.cu is there and will be replaced"));
  const ProgramResult wrong = box.run(with(kBuildOne, {"--strategy", "randon"}));
  CHECK(has(wrong.err, "did you mean 'random'?"));  // and not that there is no output
}

TEST_CASE("the end of a run says what can be done next, with the names of this run") {
  Sandbox box;
  const ProgramResult built = box.generate({"--seed", "1"});
  REQUIRE(built.exit_code == 0);
  CHECK(has(built.out, "next:\n"));
  CHECK(has(built.out, "alphakernel evaluate " + (box.folder / "k.cu").string()));
  const std::string other = (box.folder / "other.db").string();
  CHECK(has(box.generate({"--db", other}).out, "--db " + other));
  CHECK_FALSE(has(box.generate({"--json"}).out, "next:"));
}

TEST_CASE("what can be done next works as it is printed, on a problem of one's own, too") {
  Sandbox box;
  const InFolder folder(box.folder.path());
  fs::copy(fs::path(AK_SOURCE_DIR) / "templates" / "vector_add", "mine", fs::copy_options::recursive);
  std::string json = read_file("mine/problem.json");
  const std::string name = R"("name": "vector_add")";
  REQUIRE(has(json, name));
  box.write("mine/problem.json", json.replace(json.find(name), name.size(), R"("name": "mine")"));
  fs::create_directory("vector_add_fp32");  // where an export would go
  const ProgramResult run = box.run({"generate", "--problem", "mine", "--device", "emulator", "--arch",
                                     "sm_90a", "--unaudited", "--max-evaluations", "1", "--seed", "1"});
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  std::istringstream next(run.out.substr(run.out.find("next:\n") + 6));
  int steps = 0;
  for (std::string line; std::getline(next, line); ++steps) {
    std::istringstream words(line.substr(0, line.find('#')));
    const std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
    const ProgramResult step = box.run({command.begin() + 1, command.end()});
    INFO(line << "\n" << step.err);
    CHECK(step.exit_code == 0);
  }
  CHECK(steps == 3);
}

TEST_CASE("progress is plain lines where no terminal is, from the first phase on, and none with --quiet") {
  Sandbox box;
  const ProgramResult result = box.generate({"--seed", "1"});
  CHECK(has(result.err, "starting the compiler, "));
  CHECK(has(result.err, "search: "));
  CHECK_FALSE(has(result.err, "\x1b"));
  CHECK_FALSE(has(box.generate({"--quiet"}).err, "starting the compiler"));
}

TEST_CASE("--set leaves out the templates without the tunable, and says so") {
  Sandbox box;
  const std::vector<std::string> gemm{"generate",
                                      "--algorithm",
                                      "gemm",
                                      "--dtype",
                                      "bf16",
                                      "--arch",
                                      "sm_90a",
                                      "--device",
                                      "none",
                                      "--max-evaluations",
                                      "1",
                                      "--output",
                                      (box.folder / "k.cu").string()};
  const ProgramResult result = box.run(with(gemm, {"--set", "STAGES=3"}));
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(has(result.err, "is left out: it has no tunable STAGES"));
  const Json json = parse_json(read_file(box.folder / "k.result.json"));
  CHECK(json["best"]["tunables"]["STAGES"] == 3);
}

TEST_CASE(
    "every verb of a kernel takes it by file, number, key, result and search, at any place of the line") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  const std::string variant = box.query("SELECT best_variant_id FROM searches WHERE id = 1");
  const std::string number = variant.substr(0, variant.find_first_of("\r\n"));
  const std::vector<std::string> words{(box.folder / "k.cu").string(),
                                       (box.folder / "k.result.json").string(), number, "variant:" + number,
                                       "search:1"};
  for (const std::string& word : words) {
    for (const std::vector<std::string>& line :
         {std::vector<std::string>{"explain", "--json", word},
          {"compare", "--json", word, number},
          {"predict", "--no-counts", "--arch", "h200", "--json", word},
          {"evaluate", "--arch", "sm_90a", "--device", "none", "--json", word},
          {"export", "--json", "--force", "--output", (box.folder / "out").string(), word}}) {
      const ProgramResult result = box.run(line);
      INFO(fmt::format("{}", fmt::join(line, " ")) << "\n" << result.err);
      CHECK(result.exit_code == 0);
    }
    CHECK(has(box.run({"profile", "--device", "none", "--arch", "sm_90a", word}).err, "needs a device"));
  }
  const ProgramResult none = box.run({"explain", "no_kernel"});
  CHECK(none.exit_code == code(ExitCode::usage));
  CHECK(has(none.err, "search:NUMBER"));
}

TEST_CASE("the README of an export states no check that did not happen") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  const std::string out = (box.folder / "out").string();
  REQUIRE(box.run({"export", "search:1", "--output", out}).exit_code == 0);
  const std::string text = read_file(fs::path(out) / "README.md");
  CHECK(has(text, "It was built and never run"));
  CHECK_FALSE(has(text, "comparisons with an fp64 reference"));
}

TEST_CASE("a filter that nothing in the database has is answered with what it has") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  const ProgramResult result = box.run({"query", "searches", "algorithm=vectoradd"});
  CHECK(result.exit_code == 0);
  CHECK(has(result.err,
            "note: algorithm=vectoradd: the database has no such algorithm; did you mean 'vector_add'?"));
  CHECK(box.run({"query", "searches", "algorithm=vector_add"}).err.empty());
}

TEST_CASE(
    "a program that was moved alone has its algorithms and experiments compiled in, and a folder overrides "
    "them") {
  Sandbox box;
  const std::string moved = (box.folder / "alphakernel").string();
  fs::copy_file(AK_PROGRAM, moved);
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), moved);
    return run_program(arguments, box.environment);
  };
  const ProgramResult doctor = run({"doctor"});
  INFO(doctor.out << doctor.err);
  CHECK(has(doctor.out, "algorithms: "));
  CHECK(has(doctor.out, " compiled in"));
  const ProgramResult list = run({"experiment", "list"});
  CHECK(has(list.out, "vector_add_bandwidth"));
  const ProgramResult built = run(with(kBuildOne, {"--output", (box.folder / "k.cu").string()}));
  INFO(built.out << built.err);
  CHECK(built.exit_code == 0);
  CHECK(box.exists("k.cu"));
  const ProgramResult shipped =
      run({"evaluate", "compiled-in:templates/vector_add/vector_add.cu", "--algorithm", "vector_add",
           "--device", "none", "--arch", "sm_90a", "--unaudited"});
  INFO(shipped.out << shipped.err);
  CHECK(shipped.exit_code == 0);
  CHECK(has(run({"evaluate", "compiled-in:templates/vector_add/none.cu", "--algorithm", "vector_add"}).err,
            "compiled-in:templates/vector_add/none.cu: there is no such file"));
  fs::create_directories(box.folder / "own/vector_add");
  std::ofstream(box.folder / "own/vector_add/problem.json") << "{";
  box.environment["ALPHAKERNEL_TEMPLATES"] = (box.folder / "own").string();
  CHECK(has(run({"algorithms", "vector_add"}).err, (box.folder / "own/vector_add/problem.json").string()));
}

TEST_CASE("experiment list tells finished results from unfinished ones") {
  Sandbox box;
  const fs::path results = box.folder / "experiments/results";
  const auto add = [&](const std::string& name, const std::string& file, const std::string& text) {
    fs::create_directories(results / name);
    std::ofstream(results / name / "manifest.json") << R"({"name": "reduction"})";
    if (!file.empty()) std::ofstream(results / name / file) << text;
  };
  add("a_recorded", "report.md",
      "# reduction\n\nOutcome: complete: 3 of 5 expectations met, 1 skipped because ...\n");
  add("b_whole", "report.json", R"({"status": "interrupted", "expectations": [{"status": "met"}]})");
  add("c_running", "", "");
  const InFolder folder(box.folder.path());
  const std::string text = box.run({"experiment", "list"}).out;
  INFO(text);
  const std::size_t finished = text.find("Finished:"), unfinished = text.find("Unfinished");
  REQUIRE(finished != std::string::npos);
  REQUIRE(unfinished > finished);
  CHECK(has(text, "a_recorded: complete, 3 met, 1 missed, 1 skipped"));
  CHECK(has(text, "b_whole: interrupted, 1 met, 0 missed, 0 skipped"));
  CHECK(text.find("c_running") > unfinished);
}

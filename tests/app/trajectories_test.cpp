// SPDX-License-Identifier: Apache-2.0
// Answers of models as lines of a file, and what must not be in them.
#include "app/exchange/trajectories.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "app/exchange/machine_paths.h"
#include "core/error.h"
#include "core/text/file.h"
#include "tests/db/store_fixture.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using db::test::Run;
using db::test::TemporaryFolder;

TEST_CASE("paths of a machine are taken out of a text, and what only has strokes stays") {
  struct Row {
    std::string text, clean;
  };
  const std::vector<Row> rows{
      {"/home/jane/work/k.cu:12: error", "[path]/k.cu:12: error"},
      {"see /home/john.doe and \"/tmp/x\"", "see [path] and \"[path]\""},
      {"/home/john.doe/", "[path]"},
      {"--db=/scratch/jane/ak.db", "--db=[path]/ak.db"},
      {"mailbox:/home/jane/box", "mailbox:[path]"},
      {"file:///home/jane/a/b.txt", "file://[path]/b.txt"},
      {"(/fsx/team/jane/x.log)", "([path]/x.log)"},
      {"#include <cuda/std/array> // a/b/c and/or", "#include <cuda/std/array> // a/b/c and/or"},
      {"x = n / 2 / 3; y = (a)/b/c/d; /* text */", "x = n / 2 / 3; y = (a)/b/c/d; /* text */"},
      {"n /2.0f/3/4", "n /2.0f/3/4"},
      {"n /1/2/3 and /x/y", "n /1/2/3 and /x/y"},
      {"https://example.com/a/b/c", "https://example.com/a/b/c"},
      {"-I/home/jane/inc -L/u/jane/lib/x", "-I[path] -L[path]"},
      {"\xe2\x80\x98/home/jane/x\xe2\x80\x99", "\xe2\x80\x98[path]\xe2\x80\x99"},
      {"\xe2\x80\x9c/u/jane/k/k.cu\xe2\x80\x9d", "\xe2\x80\x9c[path]/k.cu\xe2\x80\x9d"},
      {"\x1b[1m/home/jane\x1b[0m, \x1b[m/home/jane", "\x1b[1m[path]\x1b[0m, \x1b[m[path]"},
      {"a\\n/home/jane and \\u2018/home/jane", "a\\n[path] and \\u2018[path]"},
      {"//home/jane/x and /home//jane/x //", "[path] and [path] //"},
      {"mailbox:/ceph/jane and mailbox:/box", "mailbox:[path] and mailbox:[path]"},
      {"/u/jane/2026/k.cu", "[path]/k.cu"},
      {"/nfs/home/jane.doe", "[path]"},
      {"@/home/jane/a.rsp */tmp/x", "@[path] *[path]"},
      {"https://home/jane/x ../home/jane a/home/jane", "https://home/jane/x ../home/jane a/home/jane"},
      {"//x = a/b/c", "//x = a/b/c"},
      {"a[m/b/c/d]", "a[m/b/c/d]"},
      {"time/duration", "time/duration"},
      {"/", "/"},
      {"", ""}};
  for (const Row& row : rows) CHECK(without_machine_paths(row.text) == row.clean);
  const std::vector<std::string> folders{"/home/jane doe/box", "/odd/box", "/work", "/odd", "/x"};
  CHECK(without_machine_paths("at:/odd/k.cu,/oddly,/x/y \xc3\xa9", folders) ==
        "at:[path]/k.cu,/oddly,/x/y \xc3\xa9");
  CHECK(without_machine_paths("a=3/odd/box, b/odd//box/c/jane.doe", folders) ==
        "a=3[path], b[path]");  // wherever it stands
  CHECK(without_machine_paths("in /home/jane doe/box/k.cu", folders) == "in [path]/k.cu");
  CHECK(without_machine_paths("total/work, n3/odd; /work", folders) == "total/work, n3/odd; [path]");
}

constexpr const char* kKey = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
constexpr const char* kSecret = "hunter2-hunter2-hunter2";

/// A search with a parent, an answer of two candidates of which one is wrong, an answer that is a repair, and a question
/// that nobody answered. Keys and paths are planted in whatever models and compilers write.
struct Asked {
  Asked() {
    parent = run.commit(128, Status::ok, 1'000'000).variant;
    const RowId first = ask("improve", "improve");
    answer(first, std::string("by ") + kKey + " and " + kSecret + " in /home/jane/notes/plan.md");
    const Hypothesis hypothesis{
        .change = "wider, as in /home/jane/x/y.cu", .reason = "why", .speedup = 2, .parent_ns = 1'000'000};
    commit(256, Status::infrastructure_error, 1, first, {parent}, nullptr);  // it is tried again
    commit(256, Status::ok, 800'000, first, {parent}, &hypothesis);
    commit(512, Status::incorrect, 1, first, {parent}, nullptr);
    store->note_llm_reward(first, 0.75);
    const RowId second = ask("repair", "improve");
    answer(second, "repaired");
    commit(1024, Status::ok, 500'000, second, {}, nullptr);
    static_cast<void>(ask("improve", "improve"));
  }
  RowId ask(const std::string& arm, const std::string& credited) const {
    return store->begin_llm_call(
        {.search = run.search,
         .model = "mailbox:/home/jane/box",
         .arm = arm,
         .credited_arm = credited,
         .prompt_version = "v1",
         .bottleneck = "dram_bound",
         .request = {{"model", "m"},
                     {"system", "be quick"},
                     {std::string("of ") + kKey, "/home/jane/notes/plan.md"},
                     {"messages", {{{"role", "user"}, {"text", std::string("key ") + kKey}}}}}});
  }
  void answer(RowId call, const std::string& text) const {
    store->end_llm_call(call,
                        {.text = text,
                         .stop = LlmStop::end,
                         .usage = {.input_tokens = 10, .output_tokens = 5, .reported = true}},
                        1);
  }
  void commit(int block, Status status, double median_ns, RowId call, std::vector<RowId> parents,
              const Hypothesis* hypothesis) {
    const EvaluationRequest request = run.request(block);
    EvaluationResult result = Run::result(status, median_ns);
    if (status != Status::ok) result.outcome.message = std::string("/home/jane/k/k.cu: ") + kSecret;
    static_cast<void>(store->commit({.search = run.search,
                                     .iteration = run.iteration++,
                                     .proposer = "mailbox:/home/jane/box",
                                     .arm = "improve",
                                     .parents = std::move(parents),
                                     .request = &request,
                                     .result = &result,
                                     .llm_call = call,
                                     .hypothesis = hypothesis}));
  }
  [[nodiscard]] fs::path file() const { return folder.path() / "answers.jsonl"; }
  [[nodiscard]] std::vector<Json> lines() const {
    std::vector<Json> lines;
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);) lines.push_back(parse_json(line));
    return lines;
  }

  TemporaryFolder folder;
  std::unique_ptr<VariantStore> store = db::open_store(folder.file());
  Run run{*store};
  RowId parent = 0;
};

TEST_CASE("a trajectory holds a question, its answer, and what came of that") {
  Asked asked;
  const TrajectoryReport report = export_trajectories(asked.folder.file(), asked.file());
  CHECK(report.answers == 2);
  CHECK(report.candidates == 3);
  CHECK(report.searches == 1);
  const auto lines = asked.lines();
  REQUIRE(lines.size() == 2);
  const Json& first = lines[0];
  CHECK(first["format"] == 1);
  CHECK(first["algorithm"] == "vector_add");
  CHECK(first["arm"] == "improve");
  CHECK(first["bottleneck"] == "dram_bound");
  CHECK(first["question"]["system"] == "be quick");
  CHECK_FALSE(first["question"].contains("model"));
  CHECK(first["reward"] == 0.75);
  CHECK(first["tokens"] == Json({{"input", 10}, {"output", 5}, {"reported", true}}));
  CHECK(first["cost_usd"].is_null());
  REQUIRE(first["parents"].size() == 1);
  CHECK(first["parents"][0]["tunables"]["BLOCK"] == 128);
  CHECK(first["parents"][0]["score_ns"] == 1'000'000);
  REQUIRE(first["candidates"].size() == 2);
  const Json &good = first["candidates"][0], &bad = first["candidates"][1];
  CHECK(good["parents"][0] == first["parents"][0]["variant"]);
  CHECK(good["verdict"]["status"] == "ok");
  CHECK(good["speedup"] == 1.25);
  CHECK(good["hypothesis"]["expected_speedup"] == 2);
  CHECK(good["hypothesis"]["measured_speedup"] == 1.25);
  CHECK(good["hypothesis"]["verdict"] == "partly");
  CHECK(good["times"][0]["median_ns"] == 800'000);
  CHECK(good["checks"][0]["passed"] == true);
  CHECK_THAT(good["source"].get<std::string>(), Contains("__global__"));
  CHECK(bad["verdict"]["status"] == "incorrect");
  CHECK(bad["speedup"].is_null());
  CHECK(bad["hypothesis"].is_null());
  CHECK(lines[1]["reward"].is_null());
  CHECK(lines[1]["candidates"][0]["parents"].empty());
  for (const auto& entry : fs::directory_iterator(asked.folder.path()))
    CHECK(entry.path().extension() != ".part");
}

TEST_CASE("a candidate that another search made from another parent has the parent of its hypothesis") {
  Asked asked;
  Run other(*asked.store);
  const RowId foreign = other.commit(2048, Status::ok, 100'000).variant;
  const EvaluationRequest request = other.request(256);
  const EvaluationResult result = Run::result(Status::ok, 800'000);
  static_cast<void>(asked.store->commit({.search = other.search,
                                         .iteration = other.iteration++,
                                         .proposer = "search",
                                         .arm = "random",
                                         .parents = {foreign},
                                         .request = &request,
                                         .result = &result}));
  CHECK(db::test::integer(asked.folder.file(), "SELECT count(*) FROM variant_parents WHERE parent_id = " +
                                                   std::to_string(foreign)) == 1);
  static_cast<void>(export_trajectories(asked.folder.file(), asked.file()));
  const Json line = asked.lines().at(0);
  CHECK(line["candidates"][0]["parents"] == Json::array({line["parents"][0]["variant"]}));
  CHECK(line["candidates"][0]["speedup"] == 1.25);
}

TEST_CASE("no key and no path of a machine is in a trajectory, wherever it was planted") {
  ::setenv("SOME_TEAM_TOKEN", kSecret, 1);
  Asked asked;
  const TrajectoryReport report = export_trajectories(asked.folder.file(), asked.file());
  ::unsetenv("SOME_TEAM_TOKEN");
  const std::string text = read_file(asked.file());
  for (const std::string planted : {"abcdefghijklmnop", "hunter2", "jane", "/home"}) {
    INFO(planted);
    CHECK_THAT(read_file(asked.folder.file()) + read_file(asked.folder.file().string() + "-wal"),
               Contains(planted));
    CHECK_THAT(text, !Contains(planted));
  }
  CHECK_THAT(text, Contains("[path]/plan.md") && Contains("[path]/y.cu") && Contains("mailbox:[path]"));
  CHECK(report.keys >= 3);   // two questions, an answer, a message
  CHECK(report.paths >= 4);  // an answer, a hypothesis, a message, two questions

  const TrajectoryReport other =
      export_trajectories(asked.folder.file(), asked.file(), {}, {std::string(kSecret)});
  CHECK(other.keys == report.keys);
  CHECK_THAT(read_file(asked.file()), !Contains("hunter2"));
}

TEST_CASE("trajectories are of one search where one is named, and a file that cannot be written is named") {
  Asked asked;
  CHECK(export_trajectories(asked.folder.file(), asked.file(), asked.run.search).answers == 2);
  CHECK_THROWS_WITH(export_trajectories(asked.folder.file(), asked.file(), 99), Contains("no search 99"));
  CHECK_THROWS_WITH(export_trajectories(asked.folder.file(), asked.folder.path() / "no" / "x.jsonl"),
                    Contains("x.jsonl"));
  CHECK_THROWS_AS(export_trajectories(asked.folder.path() / "no.db", asked.file()), Error);
  Run other(*asked.store);
  CHECK(export_trajectories(asked.folder.file(), asked.file(), other.search).answers == 0);
  CHECK(read_file(asked.file()).empty());
}

}  // namespace
}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
// Boards as a user meets them: the whole program, the CPU device, two tasks of our own.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "app/board/board_folder.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "db/sqlite.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

/// Both are served by templates that come with AlphaKernel.
constexpr const char* kTwoTasks = R"({"name": "tiny", "question": "How fast are two vectors?",
 "defaults": {"seed": 1, "strategy": "random", "deterministic": true},
 "tasks": [
  {"name": "one", "cell": "vectors", "algorithm": "vector_add", "shape": {"N": 100000000}, "max_evaluations": 3},
  {"name": "two", "cell": "vectors", "algorithm": "copy", "max_evaluations": 2}]})";

/// A module of the user's, in KernelBench's form.
std::string task_file(const std::string& forward) {
  return "import torch\nN = 8\nM = 16\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        " +
         forward +
         "\ndef get_inputs():\n    return [torch.rand(N, M)]\ndef get_init_inputs():\n    return []\n";
}

struct Board {
  /// Every board is kept in the test's folder.
  ProgramResult board(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "board");
    arguments.insert(arguments.end(), {"--folder", (box.folder / "kept").string()});
    return box.run(arguments);
  }
  ProgramResult run(const std::string& manifest, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"run", manifest, "--device", "emulator", "--arch", "sm_80"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return board(arguments);
  }
  Json show(const std::string& manifest) { return parse_json(board({"show", manifest, "--json"}).out); }
  std::int64_t count(const std::string& what) {
    return std::atoll(box.query("SELECT count(*) FROM " + what).c_str());
  }

  Sandbox box;
};

TEST_CASE("a board that is killed in the middle goes on where it was, and its page shows every task") {
  Board tiny;
  const std::string manifest = tiny.box.write("tiny.json", kTwoTasks);
  const std::vector<std::string> command{
      AK_PROGRAM, "board",  "run",   manifest,   "--device",
      "emulator", "--arch", "sm_80", "--folder", (tiny.box.folder / "kept").string()};
  const pid_t board = start_program(command, tiny.box.environment, tiny.box.folder.path());
  REQUIRE(in_the_end([&] { return tiny.box.exists("ak.db") && tiny.count("evaluations") > 0; }));
  ::kill(board, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(board, &status, 0) == board);
  const std::int64_t before = tiny.count("evaluations");
  CHECK_THAT(tiny.board({"show", manifest}).out, Contains("tiny on emulator sm_80"));

  const ProgramResult again = tiny.run(manifest);
  INFO(again.out << again.err);
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.err, Contains("one: goes on where it was interrupted"));
  CHECK(tiny.count("searches") == 2);  // nothing begins anew
  CHECK(tiny.count("evaluations") > before);
  // The first search goes on in the folder where it began; the second one does not.
  CHECK_THAT(tiny.box.query("SELECT folder FROM sessions WHERE id = 2"),
             Contains(std::filesystem::current_path().string()));
  const Json shown = tiny.show(manifest);
  CHECK(shown["found"] == 2);
  for (const Json& task : shown["tasks"]) {
    INFO(task.dump());
    CHECK(task["status"] == "found");
    CHECK(task["cost_us"].get<double>() > 0);
    CHECK_FALSE(task.contains("time_us"));  // costs are no times
    CHECK_THAT(task["by"].get<std::string>(), Contains(".cu"));
  }
  CHECK(shown["fast_p"][0]["fast_p"] == 1.0);                               // right
  for (const Json& task : shown["tasks"]) CHECK(task["speedups"].empty());  // costs are compared with nothing

  const std::int64_t evaluations = tiny.count("evaluations");
  CHECK(tiny.run(manifest).exit_code == 0);
  CHECK(tiny.count("evaluations") == evaluations);  // there is nothing left to do

  const std::string page = (tiny.box.folder / "tiny.html").string();
  CHECK(tiny.board({"page", manifest, "--output", page}).exit_code == 0);
  const std::string html = read_file(page);
  CHECK_THAT(html, Contains("How fast are two vectors?") && Contains("search:1") && Contains("search:2") &&
                       Contains("tasks with a kernel") && Contains("fast_1 over eager"));

  CHECK_THAT(html, !Contains(tiny.box.folder.path().string()));  // where it was made is nobody's business

  // The command of a row measures it again.
  const std::string words = shown["tasks"][1]["command"];
  REQUIRE(words.starts_with("alphakernel evaluate search:"));
  std::vector<std::string> arguments;
  std::istringstream list(words.substr(words.find(' ') + 1));
  for (std::string word; list >> word;) arguments.push_back(word);
  const ProgramResult evaluated = tiny.box.run(arguments);
  INFO(words << "\n" << evaluated.out << evaluated.err);
  CHECK(evaluated.exit_code == 0);
}

TEST_CASE("a board does not take the sessions of another database for its own") {
  Board tiny;
  const std::string manifest = tiny.box.write("tiny.json", kTwoTasks);
  REQUIRE(tiny.run(manifest, {"--task", "two"}).exit_code == 0);
  REQUIRE(tiny.show(manifest)["found"] == 1);
  for (const char* file : {"ak.db", "ak.db-wal", "ak.db-shm"})
    std::filesystem::remove(tiny.box.folder / file);
  // The same numbers, of something else.
  const ProgramResult other =
      tiny.box.run({"generate", "--algorithm", "softmax", "--device", "emulator", "--arch", "sm_80",
                    "--max-evaluations", "1", "--output", (tiny.box.folder / "k.cu").string()});
  INFO(other.out << other.err);
  REQUIRE(other.exit_code == 0);
  CHECK(tiny.show(manifest)["found"] == 0);
  const ProgramResult again = tiny.run(manifest, {"--task", "two"});
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  CHECK(tiny.show(manifest)["tasks"][1]["search"] == 2);  // it is searched, in this database
}

TEST_CASE("a search that lost its GPU goes on, and one that failed otherwise begins anew") {
  Board tiny;
  const std::string manifest = tiny.box.write("tiny.json", kTwoTasks);
  REQUIRE(tiny.run(manifest, {"--task", "two"}).exit_code == 0);
  const auto fail_with = [&](ExitCode reason) {
    db::Connection(tiny.box.folder / "ak.db", db::OpenMode::create)
        .execute("UPDATE session_searches SET state = 'failed', exit_code = " + std::to_string(code(reason)));
  };
  fail_with(ExitCode::environment);
  CHECK_THAT(tiny.run(manifest, {"--task", "two"}).err, Contains("two: goes on where it was interrupted"));
  CHECK(tiny.count("searches") == 1);
  fail_with(ExitCode::internal_error);
  CHECK(tiny.run(manifest, {"--task", "two"}).exit_code == 0);
  CHECK(tiny.count("searches") == 2);
  db::Connection(tiny.box.folder / "ak.db", db::OpenMode::create)
      .execute("UPDATE session_searches SET state = 'finished', search_id = NULL");
  CHECK(tiny.run(manifest, {"--task", "two"}).exit_code == 0);
  CHECK(tiny.count("searches") == 3);  // one that ended without a search did nothing
}

TEST_CASE("a search whose folder is gone goes on in the board's, and one whose board was moved begins anew") {
  Board tiny;
  const std::string manifest = tiny.box.write("tiny.json", kTwoTasks);
  REQUIRE(tiny.run(manifest, {"--task", "two"}).exit_code == 0);
  const auto stop = [&](const std::string& folder) {
    db::Connection database(tiny.box.folder / "ak.db", db::OpenMode::create);
    database.execute("UPDATE session_searches SET state = 'stopped', exit_code = NULL");
    database.execute("UPDATE sessions SET status = 'stopped', exit_code = NULL, folder = '" + folder + "'");
  };
  stop("/nowhere");
  const ProgramResult gone = tiny.run(manifest, {"--task", "two"});
  INFO(gone.out << gone.err);
  CHECK(gone.exit_code == 0);
  CHECK_THAT(gone.err, Contains("two: goes on where it was interrupted"));
  CHECK(tiny.count("searches") == 1);
  stop(tiny.box.folder.path().string());
  std::filesystem::rename(tiny.box.folder / "kept", tiny.box.folder / "before");
  std::filesystem::create_directories(tiny.box.folder / "kept");
  std::filesystem::rename(tiny.box.folder / "before", tiny.box.folder / "kept" / "now");
  const ProgramResult moved =
      tiny.box.run({"board", "run", manifest, "--device", "emulator", "--arch", "sm_80", "--folder",
                    (tiny.box.folder / "kept" / "now").string(), "--task", "two"});
  INFO(moved.out << moved.err);
  CHECK(moved.exit_code == 0);
  CHECK(tiny.count("searches") == 2);
}

TEST_CASE("the time of a call stops the search that is at work, and the next call goes on with it") {
  Board tiny;
  const std::string manifest = tiny.box.write(
      "tiny.json", R"({"name": "tiny", "question": "?", "defaults": {"seed": 1, "strategy": "random"},
 "tasks": [{"name": "one", "algorithm": "gemm"}, {"name": "two", "algorithm": "copy"}]})");
  const ProgramResult first = tiny.run(manifest, {"--limit-minutes", "0.05"});
  INFO(first.out << first.err);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.err, Contains("the 0.05 minutes are over; the same command goes on"));
  const Json shown = tiny.show(manifest);
  CHECK(shown["tasks"][0]["status"] != "no kernel");  // it has not finished
  CHECK(tiny.count("session_searches WHERE state = 'finished'") == 0);
  const ProgramResult second = tiny.run(manifest, {"--max-evaluations", "1", "--task", "two"});
  CHECK(second.exit_code == 0);
  CHECK(tiny.count("session_searches WHERE state = 'finished'") == 1);
}

TEST_CASE("a board that another process has is not changed by a judge's verdict") {
  Board tiny;
  const std::string manifest = tiny.box.write("tiny.json", kTwoTasks);
  std::filesystem::create_directories(tiny.box.folder / "judge" / "src" / "kernelbench");
  tiny.box.write("judge/src/kernelbench/eval.py", "");
  REQUIRE(tiny.run(manifest, {"--task", "two"}).exit_code == 0);
  const app::BoardLock lock(tiny.box.folder / "kept");
  const ProgramResult refused =
      tiny.board({"confirm", manifest, "--judge", (tiny.box.folder / "judge").string()});
  CHECK(refused.exit_code == code(ExitCode::usage));
  CHECK_THAT(refused.err, Contains("is running already"));
}

TEST_CASE("what a board cannot do is said before anything runs") {
  Board tiny;
  const std::string manifest = tiny.box.write("tiny.json", kTwoTasks);
  const std::string files =
      tiny.box.write("files.json", R"({"name": "files", "question": "?", "tasks": [{"file": "a.py"}]})");
  const auto with_task = [&](const std::string& keys) {
    return tiny.box.write("wrong.json", R"({"name": "wrong", "question": "?", "tasks": [
      {"name": "right", "algorithm": "copy"}, {"name": "bad", )" +
                                            keys + "}]}");
  };
  struct Row {
    ProgramResult result;
    ExitCode code;
    std::string words;
  };
  const std::vector<Row> rows{
      {tiny.run("tinny"), ExitCode::usage, "there is no board 'tinny'"},
      {tiny.run(manifest, {"--task", "thre"}), ExitCode::usage,
       "tiny has no task 'thre'; it has 2, such as 'one'"},
      {tiny.board({"run", manifest, "--device", "none", "--arch", "sm_80"}), ExitCode::usage,
       "--device none cannot"},
      {tiny.run(files), ExitCode::usage, "name it with --tasks DIR"},
      {tiny.run(files, {"--tasks", "/nowhere"}), ExitCode::bad_input, "there is no folder /nowhere"},
      {tiny.run(files, {"--tasks", tiny.box.folder.path().string()}), ExitCode::bad_input,
       "has no task of the board files; it lists such as a.py"},
      {tiny.run(with_task(R"("algorithm": "vector_add", "shape": {"ZZ": 7, "N": 3})")), ExitCode::bad_input,
       "task 'bad': --shape ZZ=7"},
      {tiny.run(with_task(R"("algorithm": "softmax", "baselines": "zz")")), ExitCode::bad_input,
       "there is no baseline 'zz'"},
      {tiny.run(with_task(R"("algorithm": "softmax", "max_minutes": "zz")")), ExitCode::bad_input,
       "max_minutes"},
      {tiny.board({"show", manifest}), ExitCode::usage, "begin it with: alphakernel board run tiny"},
      {tiny.board({"confirm", manifest, "--judge", "/nowhere"}), ExitCode::bad_input, "there is no folder"},
      {tiny.board({"confirm", manifest, "--judge", tiny.box.folder.path().string()}), ExitCode::bad_input,
       "has no src/kernelbench/eval.py"}};
  for (const Row& row : rows) {
    INFO(row.result.out << row.result.err);
    CHECK(row.result.exit_code == code(row.code));
    CHECK_THAT(row.result.err, Contains(row.words));
  }
  CHECK_FALSE(tiny.box.exists("ak.db"));
  CHECK_THAT(tiny.box.run({"board", "list"}).out,
             Contains("kernelbench_level1") && Contains("[needs --tasks DIR]") && Contains("gpu_mode"));
}

TEST_CASE(
    "tasks become problems; one that does not load stops no other, and a changed one is searched again") {
  if (!pytorch_here()) return;
  Board mine;
  std::filesystem::create_directories(mine.box.folder / "tasks");
  mine.box.write("tasks/double.py", task_file("return x * 2"));
  mine.box.write("tasks/broken.py", task_file("raise ValueError('odd shape')"));
  const std::string manifest = mine.box.write("mine.json",
                                              R"({"name": "mine", "question": "?", "other_files": true,
    "defaults": {"seed": 1, "max_evaluations": 1, "deterministic": true}})");
  const std::vector<std::string> more{"--tasks", (mine.box.folder / "tasks").string(), "--unaudited"};
  const ProgramResult first = mine.run(manifest, more);
  INFO(first.out << first.err);
  CHECK(first.exit_code == code(ExitCode::bad_input));
  CHECK_THAT(first.err, Contains("odd shape"));
  Json shown = mine.show(manifest);
  REQUIRE(shown["tasks"].size() == 2);
  CHECK(shown["tasks"][0]["task"] == "broken");
  CHECK(shown["tasks"][0]["status"] == "failed");
  CHECK(shown["tasks"][1]["status"] == "found");
  const std::int64_t searches = mine.count("searches");

  mine.box.write("tasks/double.py", task_file("return x * 3"));
  std::filesystem::remove(mine.box.folder / "tasks" / "broken.py");
  const ProgramResult second = mine.run(manifest, {"--unaudited"});  // the folder is remembered
  INFO(second.out << second.err);
  CHECK(second.exit_code == 0);
  CHECK_THAT(second.err, Contains("double: the task has changed since its last search"));
  CHECK(mine.count("searches") == searches + 1);  // what was found before stays
  shown = mine.show(manifest);
  CHECK(shown["tasks"].size() == 1);
  CHECK(shown["tasks"][0]["status"] == "found");

  // A judge of our own, which finds what it is told right.
  std::filesystem::create_directories(mine.box.folder / "judge" / "src" / "kernelbench");
  mine.box.write("judge/src/kernelbench/eval.py",
                 "class Said:\n    compiled = True\n"
                 "    runtime = 0.5\n    ref_runtime = 1.0\n    metadata = {}\n"
                 "def eval_kernel_against_ref(task, model, **_):\n    assert 'class ModelNew' in model\n"
                 "    Said.correctness = 'x * 3' in task\n    return Said\n");
  const std::string judge = (mine.box.folder / "judge").string();
  const ProgramResult judged = mine.board({"confirm", manifest, "--judge", judge});
  INFO(judged.out << judged.err);
  CHECK(judged.exit_code == 0);
  CHECK_THAT(judged.out, Contains("double: right, 2.00 x eager by its times"));
  CHECK(mine.show(manifest)["tasks"][0]["verdict"]["correct"] == true);
  mine.box.write(
      "judge/src/kernelbench/eval.py",
      "class Said:\n    compiled, correctness, runtime, ref_runtime, metadata = True, False, -1, -1, {}\n"
      "def eval_kernel_against_ref(task, model, **_):\n"
      "    print('JUDGED {\"compiled\": true, \"correct\": true}', flush=True)\n    return Said\n");
  const ProgramResult known = mine.board({"confirm", manifest, "--judge", judge});
  CHECK(known.exit_code == 0);  // another verdict of the same kernel is asked for by name
  CHECK_THAT(known.out, Contains("double: judged before: right"));
  const ProgramResult unknown = mine.board({"confirm", manifest, "--judge", judge, "--task", "dubble"});
  CHECK(unknown.exit_code == code(ExitCode::usage));
  CHECK_THAT(unknown.err, Contains("mine has no task 'dubble'; did you mean 'double'"));
  CHECK(mine.board({"confirm", manifest, "--judge", judge, "--task", "double"}).exit_code ==
        code(ExitCode::expectation));
  mine.box.write("tasks/double.py", task_file("return x * 4"));
  const ProgramResult changed = mine.board({"confirm", manifest, "--judge", judge});
  CHECK(changed.exit_code == code(ExitCode::bad_input));
  CHECK_THAT(changed.err, Contains("double: its file has changed since it was searched"));
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// What a board shows of rows that are there, and which tasks it has: without a search.
#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch.hpp>

#include "app/board/board_manifest.h"
#include "app/board/board_results.h"
#include "app/board/board_tasks.h"
#include "core/error.h"
#include "core/text/file.h"
#include "db/store/session_store.h"
#include "db/store/turn_rows.h"
#include "tests/db/store_fixture.h"

using namespace ak;
using namespace ak::app;
using Catch::Contains;

namespace {

constexpr const char* kDevice = "Test GPU sm_90a";

/// A problem with two timed shapes.
ProblemInstance two_shapes() {
  ProblemInstance problem = db::test::vector_add();
  Workload other = problem.workloads.back();
  other.name = "larger";
  other.uid = "uid-larger";
  other.axes["N"] = 4'000'000;
  problem.workloads.push_back(other);
  return problem;
}

/// A board of one task whose search is in the database: a kernel that took 1 ms on each of two shapes.
struct Shown {
  Shown() : store(db::open_store(place.file())), run(*store, db::test::device(), two_shapes()) {
    EvaluationResult result = db::test::Run::result(Status::ok, 1'000'000);
    result.measurements.push_back(result.measurements.front());
    result.measurements.back().workload = "larger";
    const StoredEvaluation stored = run.commit(run.request(128), result);
    store->end_search(run.search, "finished", "", stored.variant);
    evaluation = stored.evaluation;
    db::Session session;
    session.name = "board_one";
    session.budgets = Json::object();
    session.runs.emplace_back().name = "one";
    session.runs.back().arguments = {"--algorithm=vector_add", "--shape=N = 5", "--problem=" + problem()};
    db::SessionStore sessions(place.file());
    id = sessions.create(session);
    db::test::execute(
        place.file(),
        fmt::format("UPDATE session_searches SET search_id = {}, state = 'finished'", run.search));
    folder.path = place.path();
    folder.name = "mine";
    folder.database = place.file();
    folder.device = kDevice;
    TaskState task;
    task.name = "one";
    task.content = "0123";
    task.runs.push_back({.session = sessions.uid(id),
                         .content = "0123",
                         .way = "file/search",
                         .device = kDevice,
                         .problem = "problems/one"});
    folder.tasks.push_back(task);
  }
  [[nodiscard]] std::string problem() const { return (place.path() / "problems" / "one").string(); }
  void turn(const std::string& workload, const std::string& label, double ratio) const {
    BaselineTurns turns;
    turns.workload = workload;
    turns.label = label;
    turns.ratio = ratio;
    turns.interval = {ratio * 0.99, ratio * 1.01};
    turns.kernel_ns = 1'000'000;
    turns.baseline_ns = ratio * turns.kernel_ns;
    turns.rounds = 24;
    db::store_turns(place.file(), evaluation, std::vector{turns});
  }
  [[nodiscard]] Json board() const { return board_json(folder, ""); }
  [[nodiscard]] Json task() const { return board()["tasks"].at(0); }

  db::test::TemporaryFolder place;
  std::unique_ptr<VariantStore> store;
  db::test::Run run;
  RowId evaluation = 0, id = 0;
  BoardFolder folder;
};

TEST_CASE("turns on some of a task's shapes are no speed-up of the task") {
  const Shown shown;
  CHECK(shown.task()["status"] == "found");
  CHECK(shown.task()["speedups"].empty());
  shown.turn("large", "pytorch eager", 4);
  CHECK(shown.task()["speedups"].empty());
  CHECK(shown.board()["fast_p"][2]["fast"] == 0);
  shown.turn("larger", "pytorch eager", 1);
  const Json eager = shown.task()["speedups"]["eager"];
  CHECK(eager["speedup"].get<double>() == Approx(2));
  CHECK(eager["in_turns"] == true);
  CHECK(shown.board()["fast_p"][2]["fast"] == 1);
  CHECK_FALSE(shown.task()["speedups"].contains("compile"));
}

TEST_CASE("a kernel is of the model that wrote it in its own search, whose folder is not shown") {
  const Shown shown;
  const std::string own = shown.task()["by"];
  // The same kernel, in a search of an agent's.
  db::test::Run other(*shown.store, db::test::device(), two_shapes());
  other.commit(other.request(128), db::test::Run::result(Status::incorrect, 0));
  db::test::execute(
      shown.place.file(),
      "INSERT INTO llm_calls (uid, search_id, model, prompt_version, request, status, started_at) "
      "SELECT randomblob(16), id, 'agent:/home/me/bin/writer', '', '', 'ok', '' FROM searches");
  const auto proposed_by_call = [&](RowId search) {
    db::test::execute(shown.place.file(),
                      fmt::format("UPDATE proposals SET llm_call_id = 1 WHERE search_id = {}", search));
  };
  proposed_by_call(other.search);
  CHECK(shown.task()["by"] == own);
  proposed_by_call(shown.run.search);
  CHECK(shown.task()["by"] == "agent:writer");
}

TEST_CASE("a task's line has commas between its parts, and none before them") {
  Shown shown;
  shown.folder.tasks[0].degenerate = "its output is zero";
  shown.folder.tasks[0].failure = "search 'one': the disk is full";
  shown.folder.tasks[0].runs.clear();
  CHECK_THAT(board_text(shown.board()),
             Contains("failed    degenerate: not ranked, search 'one': the disk is full"));
}

TEST_CASE("a run whose session the database does not have is none") {
  Shown shown;
  CHECK(shown.board()["found"] == 1);
  shown.folder.tasks[0].runs[0].session = std::string(32, '0');  // the number is there, as another's
  CHECK(shown.board()["found"] == 0);
  CHECK(shown.task()["status"] == "waiting");
  CHECK_FALSE(session_of(shown.folder, shown.folder.tasks[0].runs[0]));
}

TEST_CASE("a verdict is shown with the kernel that was judged, and with no other") {
  Shown shown;
  const BestRun best = best_run(shown.folder, shown.folder.tasks[0], kDevice).value();
  CHECK(best.search == shown.run.search);
  const Json verdict{{"compiled", true}, {"correct", true}, {"of", judged_kernel(best)}};
  shown.folder.tasks[0].verdict = verdict;
  CHECK(shown.task()["verdict"] == Json{{"compiled", true}, {"correct", true}});
  for (const char* key : {"session", "variant", "content", "device"}) {
    INFO(key);
    shown.folder.tasks[0].verdict = verdict;
    shown.folder.tasks[0].verdict["of"][key] = "another";
    CHECK(shown.task()["verdict"].is_null());
  }
}

TEST_CASE("a task that is gone keeps its runs and does not count") {
  Shown shown;
  shown.folder.tasks[0].gone = true;
  const Json board = shown.board();
  CHECK(board["tasks"].empty());
  CHECK(board["ranked"] == 0);
  CHECK(board["found"] == 0);
  CHECK(board["fast_p"][0]["tasks"] == 0);
}

TEST_CASE("commands are quoted for a shell, and one of them has no path of this machine") {
  CHECK(shell_line({"a", "--b=c/d.e", "", "x y", "it's", "$HOME"}) ==
        R"(a --b=c/d.e '' 'x y' 'it'\''s' '$HOME')");
  const Shown shown;
  const Json task = shown.task();
  CHECK_THAT(task["command"].get<std::string>(),
             Contains("'--shape=N = 5'") && Contains(shown.place.file().string()));
  CHECK(
      task["folder_command"] ==
      fmt::format(
          "alphakernel baselines search:{} '--shape=N = 5' --problem=problems/one --baselines=eager,compile",
          shown.run.search));
}

TEST_CASE("the command of a kernel names its problem where the board's folder is now") {
  Shown shown;
  shown.folder.path = "/moved";
  CHECK_THAT(shown.task()["command"].get<std::string>(), Contains("--problem=/moved/problems/one "));
  CHECK_THAT(shown.task()["folder_command"].get<std::string>(), Contains("--problem=problems/one "));
}

TEST_CASE("of one that is at work the board's folder is not to be had") {
  const db::test::TemporaryFolder place;
  {
    const BoardLock lock(place.path() / "board");
    CHECK_THROWS_WITH(BoardLock(place.path() / "board"), Contains("is running already"));
  }
  CHECK_NOTHROW(BoardLock(place.path() / "board"));
}

/// A folder of tasks, and a board of all of them.
struct Tasks {
  Tasks() {
    std::filesystem::create_directories(place.path() / "tasks");
    folder.tasks_folder = place.path() / "tasks";
    folder.path = place.path() / "board";
    manifest.name = "mine";
    manifest.other_files = true;
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder.tasks_folder / name).parent_path());
    write_file_atomically(folder.tasks_folder / name, text);
  }
  void task(const std::string& name, const std::string& head = "") const {
    write(name, head + "\nclass Model(torch.nn.Module):\n    pass\ndef get_inputs():\n    return []\n");
  }
  [[nodiscard]] std::vector<FoundTask> found(bool from_files = false) const {
    return found_tasks(manifest, folder, from_files);
  }
  db::test::TemporaryFolder place;
  BoardManifest manifest;
  BoardFolder folder;
};

TEST_CASE("files whose names come to one are tasks apart") {
  const Tasks tasks;
  tasks.task("A-b.py");
  tasks.task("a_b.py");
  const auto found = tasks.found();
  REQUIRE(found.size() == 2);
  CHECK(found[0].listed.name == "a_b");
  CHECK_THAT(found[1].listed.name, Catch::StartsWith("a_b_"));
  for (const FoundTask& task : found) CHECK(task.form == "kernelbench");  // the judge asks for it
}

TEST_CASE("a folder with none of the files that a board lists is not the board's, whatever else it has") {
  Tasks tasks;
  tasks.task("level2/one.py");
  tasks.task("level1/two.py");
  ListedTask listed;
  listed.name = listed.file = "two.py";
  tasks.manifest.tasks.push_back(listed);
  CHECK_THROWS_WITH(tasks.found(), Contains("lists such as two.py in ") && Contains("level1"));
  tasks.folder.tasks_folder /= "level2";
  CHECK_THROWS_WITH(tasks.found(), Contains("lists such as two.py"));
  tasks.folder.tasks_folder = tasks.folder.tasks_folder.parent_path() / "level1";
  CHECK(tasks.found().size() == 1);
}

TEST_CASE("what the text of before showed is not said of a task that has changed") {
  const Tasks tasks;
  tasks.task("one.py");
  const FoundTask now = tasks.found().at(0);
  TaskState state;
  state.content = now.content;
  state.degenerate = "its inputs do not matter";
  state.for_judge = true;
  note_content(now, tasks.folder, state);
  CHECK(state.for_judge);
  state.content = "another";
  note_content(now, tasks.folder, state);
  CHECK(state.content == now.content);
  CHECK(state.degenerate.empty());
  CHECK_FALSE(state.for_judge);
}

TEST_CASE("a word that is too long for the name of a file is no module") {
  const Tasks tasks;
  tasks.task("one.py", "# " + std::string(300, 'x') + " " + std::string(253, 'y'));
  CHECK(tasks.found().size() == 1);
}

TEST_CASE("a task is another one when its file, what it imports or the board's manifest is") {
  Tasks tasks;
  tasks.task("one.py", "from helper import scale\nimport package.part");
  tasks.write("helper.py", "import deeper\nscale = 2\n");
  tasks.write("deeper.py", "x = 1\n");
  tasks.write("package/__init__.py", "");
  tasks.write("package/part.py", "y = 1\n");
  tasks.write("stranger.py", "z = 1\n");
  const auto content = [&] { return tasks.found().at(0).content; };
  std::string before = content();
  const auto is_another = [&] {
    const std::string last = std::exchange(before, content());
    return last != before;
  };
  tasks.write("stranger.py", "z = 2\n");
  CHECK_FALSE(is_another());
  for (const char* file : {"helper.py", "deeper.py", "package/__init__.py", "package/part.py"}) {
    INFO(file);
    tasks.write(file, read_file(tasks.folder.tasks_folder / file) + "more = 1\n");
    CHECK(is_another());
  }
  tasks.manifest.defaults["max_evaluations"] = 7;
  CHECK(is_another());
}

TEST_CASE("a task is the same one whether a template serves it or its file is searched") {
  Tasks tasks;
  tasks.task("one.py");
  ListedTask listed;
  listed.name = "one";
  listed.file = "one.py";
  listed.run = {{"algorithm", "copy"}};
  tasks.manifest.tasks.push_back(listed);
  const FoundTask by_template = tasks.found(false).at(0), by_file = tasks.found(true).at(0);
  CHECK(by_template.use_template);
  CHECK_FALSE(by_file.use_template);
  CHECK(by_template.content == by_file.content);
}

}  // namespace

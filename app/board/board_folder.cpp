// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_folder.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr Format kFolderFormat{.name = "board.json"};
constexpr const char* kStateFile = "board.json";
// The one byte that the process of a board holds.
constexpr RowId kBoardLock = 1;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(ExitCode::output, "cannot make the folder {}: {}", path.string(), error.message());
}

/// What its locks are named after.
fs::path lock_file(const fs::path& folder) {
  make_folder(folder);
  return fs::absolute(folder) / "board";
}

Json run_json(const TaskRun& run) {
  return {{"session", run.session},
          {"content", run.content},
          {"way", run.way},
          {"device", run.device},
          {"problem", run.problem}};
}

TaskRun run_from(const JsonReader& at) {
  return {.session = at.member("session").text(),
          .content = at.member("content").text(),
          .way = at.member("way").text(),
          .device = at.member("device").text(),
          .problem = at.member("problem").text()};
}

Json task_json(const TaskState& task) {
  Json json{{"name", task.name},
            {"file", task.file},
            {"cell", task.cell},
            {"note", task.note},
            {"content", task.content},
            {"failure", task.failure},
            {"degenerate", task.degenerate},
            {"for_judge", task.for_judge},
            {"gone", task.gone},
            {"runs", Json::array()},
            {"baselines_of", task.baselines_of},
            {"verdict", task.verdict}};
  for (const TaskRun& run : task.runs) json["runs"].push_back(run_json(run));
  return json;
}

TaskState task_from(const JsonReader& at) {
  TaskState task{.name = at.member("name").text(),
                 .file = at.member("file").text(),
                 .cell = at.member("cell").text(),
                 .note = at.member("note").text(),
                 .content = at.member("content").text(),
                 .failure = at.member("failure").text(),
                 .degenerate = at.member("degenerate").text(),
                 .for_judge = at.member("for_judge").boolean(),
                 .gone = at.member("gone").boolean(),
                 .runs = {},
                 .baselines_of = at.json().value("baselines_of", Json()),
                 .verdict = at.member("verdict").json()};
  for (const JsonReader& run : at.member("runs").items()) task.runs.push_back(run_from(run));
  return task;
}

void read_into(BoardFolder& folder, const JsonReader& at) {
  folder.question = at.member("question").text();
  folder.database = at.member("database").text();
  folder.tasks_folder = at.member("tasks_folder").text();
  folder.device = at.member("device").text();
  for (const JsonReader& task : at.member("tasks").items()) folder.tasks.push_back(task_from(task));
  if (at.member("name").text() != folder.name)
    at.member("name").fail("'" + folder.name + "': the folder is another board's; name one with --folder");
}

}  // namespace

TaskState* BoardFolder::find(const std::string& task) {
  const auto found = std::ranges::find(tasks, task, &TaskState::name);
  return found == tasks.end() ? nullptr : &*found;
}

BoardLock::BoardLock(const fs::path& folder) : locks_(lock_file(folder)) {
  if (!locks_.try_hold(kBoardLock))
    fail(ExitCode::usage, "the board in {} is running already", folder.string());
}

void check_task_names(const BoardFolder& folder, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const TaskState& task : folder.tasks)
    if (!task.gone) known.push_back(task.name);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      fail(ExitCode::usage, "{} has no task '{}'{}; it has {}, such as '{}'", folder.name, sanitize(name, 60),
           did_you_mean(name, known), known.size(), known.empty() ? "" : known.front());
}

BoardFolder open_board_folder(const fs::path& path, const std::string& board) {
  BoardFolder folder;
  folder.path = fs::absolute(path).lexically_normal();
  folder.name = board;
  const fs::path file = folder.path / kStateFile;
  if (!fs::exists(file)) return folder;
  const Json written = read_written_json(file);
  try {
    const Json json = up_to_date(kFolderFormat, written);
    read_into(folder, JsonReader(json));
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  }
  return folder;
}

void save(const BoardFolder& folder) {
  Json json{{"name", folder.name},
            {"question", folder.question},
            {"database", folder.database.string()},
            {"tasks_folder", folder.tasks_folder.string()},
            {"device", folder.device},
            {"tasks", Json::array()}};
  set_version(kFolderFormat, json);
  for (const TaskState& task : folder.tasks) json["tasks"].push_back(task_json(task));
  make_folder(folder.path);
  write_file_atomically(folder.path / kStateFile,
                        json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace ak::app

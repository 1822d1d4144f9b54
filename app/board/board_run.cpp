// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "app/board/blank_kernel.h"
#include "app/board/board_results.h"
#include "app/board/board_tasks.h"
#include "app/session/session_manifest.h"
#include "app/session/session_runner.h"
#include "app/setup/interrupt.h"
#include "app/setup/target.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json_reader.h"
#include "core/time_limit.h"
#include "db/store/session_store.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// What a public board compares with.
constexpr const char* kBoardBaselines = "eager,compile";

int value(ExitCode code) { return static_cast<int>(code); }

/// Asks a session to stop at a time, as `session stop` does, unless this goes before.
class StopAtTime {
 public:
  StopAtTime(const fs::path& database, RowId session, std::optional<steady_clock::time_point> time) {
    if (time)
      thread_ =
          std::jthread([=, this](const std::stop_token& over) { wait(database, session, *time, over); });
  }
  [[nodiscard]] bool asked() const { return asked_; }

 private:
  void wait(const fs::path& database, RowId session, steady_clock::time_point time,
            const std::stop_token& over) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wake;
    wake.wait_until(lock, over, time, [] { return false; });
    if (over.stop_requested()) return;
    try {
      asked_ = true;
      db::SessionStore(database).request_stop(session);
    } catch (const Error&) {
      // What is wrong with the database the search reports, which cannot do without.
    }
  }

  std::atomic<bool> asked_{false};
  std::jthread thread_;
};

/// Where the program is, for what goes to a session's folder and does not come back.
class HereAgain {
 public:
  HereAgain() = default;
  ~HereAgain() {
    std::error_code gone;
    fs::current_path(here_, gone);
  }
  HereAgain(const HereAgain&) = delete;
  HereAgain& operator=(const HereAgain&) = delete;

 private:
  fs::path here_ = fs::current_path();
};

class BoardRunner {
 public:
  BoardRunner(const BoardManifest& manifest, BoardFolder& folder, const BoardOrder& order,
              const ReadGenerate& read, const BoardReport& report)
      : manifest_(manifest), folder_(folder), order_(order), read_(read), report_(report) {}

  int run();

 private:
  /// Marks what to do with a task, from what was done.
  enum class Next : std::uint8_t { nothing, resume, begin };

  void take_order();
  void take_tasks();
  void check_tasks() const;
  void check_task(const FoundTask& task) const;
  [[nodiscard]] bool is_wanted(const FoundTask& task) const {
    return order_.only.empty() || std::ranges::find(order_.only, task.listed.name) != order_.only.end();
  }
  [[nodiscard]] std::optional<steady_clock::time_point> end_of_time() const;
  void say_time_is_over() const;
  /// False where the board ends with `code_`.
  [[nodiscard]] bool run_task(const FoundTask& task, TaskState& state);
  [[nodiscard]] Next next_of(const FoundTask& task, const TaskState& state, RowId& session) const;
  [[nodiscard]] std::optional<RowId> begin(const FoundTask& task, TaskState& state);
  void resume(TaskState& state, RowId session);
  [[nodiscard]] bool go_on(const std::string& name, RowId session);
  [[nodiscard]] Json listed_run(const FoundTask& task, const std::string& problem,
                                const std::string& start) const;
  [[nodiscard]] Json session_json(const FoundTask& task, const std::string& problem,
                                  const std::string& start) const;
  [[nodiscard]] std::string way_of(const FoundTask& task) const;
  void note_failure(TaskState& state, const std::string& why, ExitCode code);
  void keep_code(int code) { code_ = code_ == 0 ? code : code_; }
  void say(const std::string& line) const { report_.line(line); }

  const BoardManifest& manifest_;
  BoardFolder& folder_;
  BoardOrder order_;
  const ReadGenerate& read_;
  const BoardReport& report_;
  Config config_;
  Target target_;
  std::vector<FoundTask> tasks_;
  steady_clock::time_point start_ = steady_clock::now();
  int code_ = 0;
  bool waits_for_model_ = false, searched_ = false;  ///< some task of this call
};

std::string device_label(const Target& target) {
  const std::string name =
      target.kind == DeviceKind::cuda ? target.device->name : std::string(to_string(target.kind));
  return fmt::format("{} {}", name, target.arch.sm());
}

void BoardRunner::take_order() {
  config_ = load_config();
  if (!order_.tasks_folder.empty())
    folder_.tasks_folder = fs::absolute(order_.tasks_folder).lexically_normal();
  if (!order_.database.empty() || folder_.database.empty())
    folder_.database = fs::absolute(database_file(order_.database, config_));
  if (!order_.pool.empty()) order_.pool = fs::absolute(order_.pool).string();
  folder_.question = manifest_.question;
  target_ = choose_search_target(order_.device.empty() ? config_.device : order_.device, order_.pool,
                                 order_.arch.empty() ? config_.arch : order_.arch);
  if (!target_.executes()) fail(ExitCode::usage, "a board runs kernels: --device none cannot");
  if (!target_.notice.empty()) say("note: " + target_.notice);
  folder_.device = device_label(target_);
}

/// The states of the tasks that there are now, in their order; what was kept of others comes last.
void BoardRunner::take_tasks() {
  tasks_ = found_tasks(manifest_, folder_, order_.from_files);
  std::vector<TaskState> states;
  for (const FoundTask& task : tasks_) {
    const TaskState* before = folder_.find(task.listed.name);
    TaskState state = before == nullptr ? TaskState{} : *before;
    state.gone = false;
    state.name = task.listed.name;
    state.file = task.listed.file;
    state.cell = task.listed.cell;
    state.note = task.listed.note;
    if (task.missing.empty()) note_content(task, folder_, state);
    states.push_back(std::move(state));
  }
  for (const TaskState& before : folder_.tasks)
    if (std::ranges::find(states, before.name, &TaskState::name) == states.end() && !before.runs.empty())
      states.push_back(before), states.back().gone = true;
  folder_.tasks = std::move(states);
}

/// The manifest of a session of one search.
Json session_of_run(const FoundTask& task, const Json& run) {
  return {{"name", "board_" + task.listed.name}, {"runs", Json::array({run})}};
}

/// As `generate` checks it, for a GPU and without one: what the CPU device leaves out is checked, too.
void BoardRunner::check_task(const FoundTask& task) const {
  Json run = listed_run(task, "problems", "");
  run["device"] = to_string(DeviceKind::emulator);
  run["arch"] = target_.arch.sm();
  db::Session session = session_from(session_of_run(task, run), folder_.path, folder_.path);
  if (!task.use_template) return;  // its problem is made when its turn comes
  static_cast<void>(read_(session.runs.front().arguments, ""));
}

/// What is wrong with the manifest, before a search takes its time. A template that does not serve this target, say, is of
/// one task, which says so in its turn.
void BoardRunner::check_tasks() const {
  for (const FoundTask& task : tasks_) {
    if (!task.missing.empty() || !is_wanted(task)) continue;
    try {
      check_task(task);
    } catch (const JsonInputError& error) {
      fail(ExitCode::bad_input, "{}: task '{}': {}", manifest_.file.string(), task.listed.name, error.what());
    } catch (const Error& error) {
      if (error.code() == ExitCode::usage || error.code() == ExitCode::bad_input)
        fail(ExitCode::bad_input, "{}: task '{}': {}", manifest_.file.string(), task.listed.name,
             error.what());
    }
  }
}

std::optional<steady_clock::time_point> BoardRunner::end_of_time() const {
  if (!order_.limit_minutes) return std::nullopt;
  return start_ + time_limit(*order_.limit_minutes * 60);
}

void BoardRunner::say_time_is_over() const {
  say(fmt::format("the {:g} minutes are over; the same command goes on", *order_.limit_minutes));
}

std::string BoardRunner::way_of(const FoundTask& task) const {
  return fmt::format("{}/{}", task.use_template ? "template" : "file",
                     order_.model.empty() ? "search" : order_.model);
}

void BoardRunner::note_failure(TaskState& state, const std::string& why, ExitCode code) {
  state.failure = why;
  save(folder_);
  say(fmt::format("  {}: {}", state.name, why));
  keep_code(value(code));
}

/// What a search began with and writes is where it was: it is not, where the board's folder was moved.
bool has_files(const db::SessionSearch& search) {
  const auto is_there = [](const std::string& argument) {
    constexpr std::string_view kProblem = "--problem=", kOutput = "--output=";
    std::error_code error;
    if (argument.starts_with(kProblem)) return fs::is_directory(argument.substr(kProblem.size()), error);
    if (argument.starts_with(kOutput))
      return fs::is_directory(fs::path(argument.substr(kOutput.size())).parent_path(), error);
    return true;
  };
  return std::ranges::all_of(search.arguments, is_there);
}

BoardRunner::Next BoardRunner::next_of(const FoundTask& task, const TaskState& state, RowId& session) const {
  const auto fits = [&](const TaskRun& run) {
    return run.content == task.content && run.way == way_of(task) && run.device == folder_.device &&
           session_of(folder_, run);
  };
  const auto last = std::find_if(state.runs.rbegin(), state.runs.rend(), fits);
  if (last == state.runs.rend()) return Next::begin;
  const db::Session before = *session_of(folder_, *last);
  const db::SessionSearch& search = before.runs.front();
  session = before.id;
  if (search.state == "finished") return search.search ? Next::nothing : Next::begin;
  // A GPU that was lost, or a full disk, took nothing of what was committed. What failed otherwise may have failed for
  // what a search cannot go on with, such as another version of the program.
  const bool lost =
      search.exit_code == value(ExitCode::environment) || search.exit_code == value(ExitCode::database);
  const bool over = search.state == "skipped" || (search.state == "failed" && !lost);
  return over || !has_files(search) ? Next::begin : Next::resume;
}

/// What the board's manifest says of the task's search.
Json BoardRunner::listed_run(const FoundTask& task, const std::string& problem,
                             const std::string& start) const {
  Json run = manifest_.defaults;
  run.update(task.listed.run);
  run["name"] = task.listed.name;
  if (!task.use_template) {
    for (const char* of_template : {"algorithm", "params", "shape", "template", "set"})
      run.erase(of_template);
    run["problem"] = (folder_.path / problem).string();
    if (!start.empty() && !run.contains("start")) run["start"] = start;
  }
  return run;
}

Json BoardRunner::session_json(const FoundTask& task, const std::string& problem,
                               const std::string& start) const {
  Json run = listed_run(task, problem, start);
  if (target_.kind == DeviceKind::cuda) {
    if (!run.contains("baselines")) run["baselines"] = kBoardBaselines;
  } else {  // shapes for a GPU would take the CPU device hours
    for (const char* of_gpu : {"shape", "baselines", "per_shape", "prepared_copies"}) run.erase(of_gpu);
  }
  if (order_.pool.empty())
    run["device"] = device_flag_of(target_);
  else
    run["pool"] = order_.pool;
  run["arch"] = target_.arch.sm();
  if (order_.model.empty())
    run["proposer"] = "search";
  else
    run["model"] = order_.model;
  if (order_.max_evaluations) {
    const Json own = run.value("max_evaluations", Json());
    const std::int64_t most = own.is_number_integer() ? own.get<std::int64_t>() : *order_.max_evaluations;
    run["max_evaluations"] = std::min(most, *order_.max_evaluations);
  }
  if (order_.max_minutes) run["max_minutes"] = *order_.max_minutes;
  if (order_.unaudited) run["unaudited"] = true;
  return session_of_run(task, run);
}

std::shared_ptr<const ProblemInstance> instance_of(const fs::path& folder) {
  const codegen::Problem problem = codegen::load_problem(folder);
  return codegen::instantiate(problem, codegen::choose_params(problem, {}));
}

/// The number of a new session of the task; nothing where there is none, and the state says why.
std::optional<RowId> BoardRunner::begin(const FoundTask& task, TaskState& state) {
  std::string problem, start;
  if (!task.use_template) {
    const InterruptGuard interrupt;
    problem = problem_of_file(task, folder_, state, named_python(config_), interrupt.requested());
    const auto instance = instance_of(folder_.path / problem);
    if (instance->templates.empty() && order_.model.empty()) {
      note_failure(state, kNeedsModel, ExitCode::ok);
      waits_for_model_ = true;
      return std::nullopt;
    }
    if (instance->templates.empty()) {  // a search begins with some kernel
      start = (folder_.path / "starts" / (task.listed.name + ".cu")).string();
      fs::create_directories(folder_.path / "starts");
      write_file_atomically(start, blank_kernel(*instance));
    }
  }
  const fs::path file = folder_.path / "sessions" / (task.listed.name + ".json");
  for (const char* part : {"sessions", "kernels"}) fs::create_directories(folder_.path / part);
  write_file_atomically(file, session_json(task, problem, start).dump(2) + "\n");
  db::Session session = read_session_manifest(file, folder_.path / "kernels");
  session.command = fmt::format("alphakernel board run {}", manifest_.name);
  session.folder = fs::current_path().string();
  db::SessionStore store(folder_.database);
  check_session(session, folder_.database, read_);
  const RowId id = store.create(session);
  if (!state.runs.empty() && state.runs.back().content != task.content)
    say(fmt::format(
        "  {}: the task has changed since its last search; it is searched again, and the rows of before stay",
        state.name));
  state.runs.push_back({.session = store.uid(id),
                        .content = task.content,
                        .way = way_of(task),
                        .device = folder_.device,
                        .problem = problem});
  state.failure.clear();
  save(folder_);
  return id;
}

/// Where the folder is gone in which it began, it goes on in the board's: its paths are absolute.
void BoardRunner::resume(TaskState& state, RowId id) {
  say(fmt::format("  {}: goes on where it was interrupted, with the limits that it began with", state.name));
  state.failure.clear();
  save(folder_);
  db::SessionStore store(folder_.database);
  db::Session session = store.read(id);
  std::error_code error;
  if (!fs::is_directory(session.folder, error)) {
    session.folder = folder_.path.string();
    store.move(session, {});
  }
  store.queue(id);
}

/// Runs what is left of a session here.
bool BoardRunner::go_on(const std::string& name, RowId id) {
  const HereAgain here;
  const StopAtTime limit(folder_.database, id, end_of_time());
  const int code =
      run_searches(folder_.database, id, read_, {.show = report_.show, .line = [](const std::string&) {}});
  const db::Session session = db::SessionStore(folder_.database).read(id);
  say(fmt::format("  {}: {}{}{}", name, session.runs.front().state,
                  session.runs.front().reason.empty() ? "" : ": ", session.runs.front().reason));
  if (session.status == "stopped" && session.reason != "interrupted" && limit.asked())
    return say_time_is_over(), false;
  keep_code(code);
  if (session.status == "stopped") code_ = code;
  return session.status == "finished" || session.status == "suspended";
}

bool BoardRunner::run_task(const FoundTask& task, TaskState& state) {
  if (!task.missing.empty()) return note_failure(state, task.missing, ExitCode::bad_input), true;
  RowId session = 0;
  const Next next = next_of(task, state, session);
  if (next == Next::nothing) {
    searched_ = true;
    keep_code(db::SessionStore(folder_.database).read(session).exit_code.value_or(0));
    return true;
  }
  try {
    if (next == Next::resume) {
      resume(state, session);
    } else {
      const auto id = begin(task, state);
      if (!id) return true;
      session = *id;
    }
    searched_ = true;
    return go_on(state.name, session);
  } catch (const Error& error) {
    if (error.code() == ExitCode::database || error.code() == ExitCode::output) throw;
    if (error.code() == ExitCode::interrupted) return code_ = value(error.code()), false;
    return note_failure(state, error.what(), error.code()), true;
  }
}

int BoardRunner::run() {
  take_order();
  take_tasks();
  check_task_names(folder_, order_.only);
  check_tasks();
  save(folder_);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const std::string& name = tasks_[i].listed.name;
    if (!is_wanted(tasks_[i])) continue;
    if (const auto end = end_of_time(); end && steady_clock::now() >= *end) {
      say_time_is_over();
      break;
    }
    say(fmt::format("[{}/{}] {}", i + 1, tasks_.size(), name));
    if (!run_task(tasks_[i], *folder_.find(name))) break;
  }
  // Of a board without a model nothing else is expected of such tasks; where there are no others, nothing was done.
  if (waits_for_model_ && !searched_) keep_code(value(ExitCode::no_kernel));
  return code_;
}

}  // namespace

int run_board(const BoardLock&, const BoardManifest& manifest, BoardFolder& folder, const BoardOrder& order,
              const ReadGenerate& read, const BoardReport& report) {
  return BoardRunner(manifest, folder, order, read, report).run();
}

}  // namespace ak::app

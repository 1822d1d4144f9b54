// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "agent/llm/mailbox/mailbox_client.h"
#include "app/audit/problem_audits.h"
#include "app/llm/model_choice.h"
#include "app/search/cpu_fallback.h"
#include "app/search/run_journal.h"
#include "app/search/search_command.h"
#include "app/session/notification.h"
#include "app/session/session_home.h"
#include "app/session/session_manifest.h"
#include "app/session/session_plan.h"
#include "app/session/session_questions.h"
#include "app/session/session_watch.h"
#include "app/session/steering.h"
#include "app/sets/shape_tuning.h"
#include "app/setup/interrupt.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/text/print_stderr.h"
#include "core/time_limit.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto kKnownLimit = std::chrono::milliseconds(10'000);  // one row of a view; chosen
/// So long a search that waits for answers alone keeps its machine, unless --mailbox-wait says otherwise; chosen: an agent
/// that is at work answers within minutes, and a person who is not there does not answer within an hour either.
constexpr auto kMailboxWait = std::chrono::minutes(10);
constexpr auto kDevicePause = std::chrono::milliseconds(15'000);  // between two looks for it; chosen

/// How a search, or the session, ended.
struct End {
  std::string state, reason;
  int code = 0;
};

int value(ExitCode code) { return static_cast<int>(code); }

class SessionRunner {
 public:
  SessionRunner(fs::path database, RowId id, SessionWatch& watch, const SessionBudgets& budgets,
                const ReadGenerate& read, const SessionReport& report)
      : database_(std::move(database)),
        id_(id),
        watch_(watch),
        budgets_(budgets),
        read_(read),
        report_(report),
        store_(database_),
        notify_(notify_of(store_.read(id)),
                [](const std::string& line) { print_stderr("note: {}\n", line); }) {}

  End run();

 private:
  /// Every search that is not done, or with `answered` every one that was suspended and has an answer by now. False when
  /// the session ends here.
  [[nodiscard]] bool run_all(bool answered);
  /// Searches take turns until none of them can go on.
  [[nodiscard]] bool run_by_turns();
  /// Runs on; false when the session ends here.
  [[nodiscard]] bool run_one(std::size_t index);
  [[nodiscard]] bool has_answer(const db::SessionSearch& run);
  void end_suspended();
  [[nodiscard]] End search(const db::Session& session, db::SessionSearch& run);
  [[nodiscard]] End search_patiently(std::size_t index);
  void prepare(const db::Session& session, db::SessionSearch& run, GenerateCommand& generate);
  void note(const SearchRun& search, const agent::Progress& progress, const codegen::RunSummary& summary);
  void notify_search(std::size_t index);
  void notify_end();

  fs::path database_;
  RowId id_;
  SessionWatch& watch_;
  SessionBudgets budgets_;
  const ReadGenerate& read_;
  const SessionReport& report_;
  db::SessionStore store_;
  Notifier notify_;
  End end_{.state = "finished", .reason = "", .code = 0};
  std::map<RowId, std::set<fs::path>> mailboxes_;  ///< of searches of the queue that this process began
  std::set<RowId> left_out_;                       ///< searches that this process cannot go on with
  std::map<RowId, std::int64_t> tokens_before_;  ///< of searches that were suspended, when they were taken up
};

bool no_time_left(const db::Session& session, const SessionBudgets& budgets) {
  std::int64_t spent_ms = 0;
  for (const db::SessionSearch& run : session.runs) spent_ms += run.stats.spent_ms;
  return budgets.max_minutes && static_cast<double>(spent_ms) >= *budgets.max_minutes * 60'000;
}

/// Nothing of the session is left for a search that has not begun.
std::string used_up(const db::Session& session, const SessionBudgets& budgets) {
  if (no_time_left(session, budgets)) return "the session had no time left";
  std::int64_t evaluations = 0;
  for (const db::SessionSearch& run : session.runs) evaluations += run.stats.evaluations;
  return budgets.max_evaluations && evaluations >= *budgets.max_evaluations
             ? "the session had no evaluations left"
             : "";
}

/// Sets what a search may use in its round, and that it pauses then.
void prepare_round(const db::Session& session, db::SessionSearch& run, const SessionBudgets& budgets,
                   SearchRun& search) {
  const agent::Budgets own = search.budgets;
  search.budgets = budgets_of_round(session, run, budgets, own);
  run.budgets = to_json(search.budgets);
  limit_tokens(search);
  // What goes on somewhere else has no journal to go on with.
  if (run.rounds.back().closes || search.target.fell_back) return;
  search.whole_budgets = search.budgets;
  search.whole_budgets->max_evaluations = own.max_evaluations;
  search.whole_budgets->max_wall = own.max_wall;
}

/// What a search begins with and may use is decided once, so that it continues as it began.
void SessionRunner::prepare(const db::Session& session, db::SessionSearch& run, GenerateCommand& generate) {
  SearchRun& search = generate.setup.run;
  search.audited = require_audit(*search.problem, generate.flags.unaudited, generate.setup.config, database_);
  if (run.first_points) {
    search.first_points = first_points_from_json(*run.first_points);
    add_earlier_answers(generate.setup, generate.flags, last_earlier_from_json(*run.first_points));
  } else {
    add_first_points(generate.setup, generate.flags);
    run.first_points =
        beginning_json(search.first_points, add_earlier_answers(generate.setup, generate.flags));
  }
  if (!run.rounds.empty()) {
    prepare_round(session, run, budgets_, search);
  } else {
    if (run.budgets.is_null()) run.budgets = to_json(budgets_of(session, run, budgets_, search.budgets));
    search.budgets = budgets_from_json(run.budgets);
    limit_tokens(search);
  }
  run.stats.limit_ns = limit_ns(search);
  // What was begun on GPUs goes on with them, or not at all.
  if (!search.target.fell_back) search.session_search = run.id;
  search.patient = !search.one_by_one;
  // A set is made in one go.
  if (!search.per_shape)
    search.mailbox_wait = mailbox_wait(generate.flags.mailbox_wait).value_or(kMailboxWait);
  for (const agent::LlmModel& model : search.models)
    if (const fs::path folder = agent::mailbox_folder(model.name); !folder.empty())
      mailboxes_[run.id].insert(folder);
  search.spent_before = std::chrono::milliseconds(run.stats.spent_ms);
  search.spent.evaluated = static_cast<int>(run.stats.evaluations);
  search.spent.verified = static_cast<int>(run.stats.verified);
  search.spent.tokens = run.stats.tokens;
  search.spent.cost_usd = run.stats.cost_usd;
  search.spent.elapsed_s = 1e-3 * static_cast<double>(run.stats.spent_ms);
  if (search.target.fell_back && !take_spent(search))
    fail(ExitCode::environment, "no GPU of the pool is there, and nothing is left of the search's budgets");
  search.on_progress = [this, &search](const agent::Progress& progress, const codegen::RunSummary& summary) {
    note(search, progress, summary);
  };
}

/// The row is that of a search on GPUs: costs of the CPU device in its place are neither a best time nor a baseline of it.
void SessionRunner::note(const SearchRun& search, const agent::Progress& progress,
                         const codegen::RunSummary& summary) {
  if (!search.target.fell_back) return watch_.note(progress, summary);
  agent::Progress without_costs = progress;
  without_costs.best_ns.reset();
  without_costs.evaluated += search.spent.evaluated;  // the budgets are those of both
  without_costs.verified += search.spent.verified;
  without_costs.tokens += search.spent.tokens;
  without_costs.cost_usd += search.spent.cost_usd;
  watch_.note(without_costs, {});
}

End SessionRunner::search(const db::Session& session, db::SessionSearch& run) {
  const auto start = steady_clock::now();
  auto generate = read_(arguments_of(run, database_), generate_line(run.arguments));
  AK_ASSERT(generate, "a session's arguments were parsed when it began");
  prepare(session, run, *generate);
  store_.begin_run(run);
  const bool goes_on = run.search && !generate->setup.run.target.fell_back;
  RunJournal journal(goes_on ? store_.journal(*run.search) : std::vector<db::JournalEntry>(),
                     goes_on ? store_.calls(*run.search) : std::vector<db::JournalCall>());
  generate->setup.run.journal = &journal;
  const auto store = db::open_store(database_);
  const SearchOutcome outcome =
      find_kernel_or_fall_back(generate->setup.run, generate->setup.config, *store, watch_.stop());
  note(generate->setup.run, outcome.loop.progress, outcome.summary);
  if (generate->setup.run.target.fell_back && run.stats.limit_ns) {
    run.stats.limit_ns.reset();  // of the GPUs
    store_.begin_run(run);
  }
  const int code = report_search(generate->setup, outcome, start, report_.show);
  if (outcome.loop.paused) return {"paused", "others go on", 0};
  if (outcome.loop.suspended)
    return {"suspended", awaited_answers(mailboxes_[run.id], search_name(database_, outcome.loop.search)),
            value(ExitCode::suspended)};
  if (outcome.loop.interrupted) return {"stopped", watch_.reason(), value(ExitCode::interrupted)};
  return {"finished", outcome.loop.stop_reason, code};
}

/// A device that is lost may come back: what was committed until then is not done again.
End SessionRunner::search_patiently(std::size_t index) {
  const std::chrono::milliseconds patience = time_limit(budgets_.wait_for_device_minutes * 60);
  const auto give_up = steady_clock::now() + patience;
  for (;;) {
    const db::Session session = store_.read(id_);
    db::SessionSearch run = session.runs.at(index);
    watch_.begin_run(run);
    End end;
    try {
      end = search(session, run);
    } catch (const Error& error) {
      const bool stopped = error.code() == ExitCode::interrupted;
      end = {stopped ? "stopped" : "failed", stopped ? watch_.reason() : error.what(), value(error.code())};
    }
    store_.note_stats(id_, run.id, watch_.end_run());
    const bool lost = end.code == value(ExitCode::environment);
    if (!lost || watch_.stop() || steady_clock::now() >= give_up) return end;
    const auto pause = std::min(kDevicePause, patience / 4);
    print_stderr("note: {}; trying again in {:.3g} s\n", end.reason,
                 static_cast<double>(pause.count()) / 1000);
    watch_.rest(pause);
  }
}

bool SessionRunner::run_one(std::size_t index) {
  const db::Session session = store_.read(id_);
  db::SessionSearch run = session.runs.at(index);
  // Searches that have taken turns are closed when nothing is left to give.
  const bool begun_by_turns = !run.rounds.empty() && !run.budgets.is_null();
  End end{"skipped", begun_by_turns ? "" : used_up(session, budgets_), 0};
  if (end.reason.empty()) {
    report_.line(fmt::format("[{}/{}] {}: {}", index + 1, session.runs.size(), run.name,
                             generate_line(run.arguments)));
    end = search_patiently(index);
  } else {
    withdraw_questions(database_, session, run, end.reason);
  }
  run.state = end.state;
  run.reason = end.reason;
  run.exit_code = end.code;
  store_.end_run(run, run.is_done());
  if (end.state == "failed") print_stderr("error: {}: {}\n", run.name, end.reason);
  if (!run.is_done() && run.state != "paused") left_out_.insert(run.id);
  if (run.state != "paused") notify_search(index);
  // What waits for answers may be taken up again: end_suspended() looks at that.
  if (end.code != 0 && end.state != "suspended" && end_.code == 0) end_.code = end.code;
  // The next search would meet the same fate.
  const bool over = end.state == "failed" &&
                    (end.code == value(ExitCode::environment) || end.code == value(ExitCode::database));
  if (over) end_ = {"failed", fmt::format("{}: {}", run.name, end.reason), end.code};
  return !over;
}

/// Or nothing is open any more: its answer was taken as it was suspended, or its question declined. It was not taken up
/// for that before, to no effect.
bool SessionRunner::has_answer(const db::SessionSearch& run) {
  if (run.state != "suspended" || !run.search) return false;
  const auto before = tokens_before_.find(run.id);
  if (before != tokens_before_.end() && before->second == run.stats.tokens) return false;
  const std::string name = search_name(database_, *run.search);
  const std::set<fs::path>& mailboxes = mailboxes_[run.id];
  return std::ranges::any_of(mailboxes,
                             [&](const fs::path& folder) { return agent::has_answer(folder, name); }) ||
         std::ranges::all_of(
             mailboxes, [&](const fs::path& folder) { return agent::open_questions(folder, name).empty(); });
}

bool SessionRunner::run_by_turns() {
  for (;;) {
    const db::Session session = store_.read(id_);
    const auto turn = next_turn(session, budgets_, left_out_);
    if (!turn) return true;
    if (turn->is_new) {
      store_.add_round(session.runs.at(turn->run), turn->round);
      report_.line(turn_text(session.runs.at(turn->run), turn->round));
    }
    if (watch_.stop() || !run_one(turn->run)) return false;
    if (watch_.stop()) return false;
  }
}

bool SessionRunner::run_all(bool answered) {
  const db::Session begun = store_.read(id_);
  const bool by_turns = is_steered(begun, budgets_);
  if (by_turns && !answered) return run_by_turns();
  const std::size_t runs = begun.runs.size();
  for (std::size_t i = 0; i < runs; ++i) {
    const db::SessionSearch run = store_.read(id_).runs.at(i);
    if (run.is_done() || (answered && !has_answer(run))) continue;
    if (answered) tokens_before_[run.id] = run.stats.tokens;
    left_out_.erase(run.id);
    if (watch_.stop() || !run_one(i)) return false;
  }
  return !by_turns || run_by_turns();
}

/// What the searches left says how the session ended, where nothing stopped it.
void SessionRunner::end_suspended() {
  const db::Session session = store_.read(id_);
  std::vector<std::string> waiting;
  for (const db::SessionSearch& run : session.runs)
    if (run.state == "suspended") waiting.push_back(fmt::format("{}: {}", run.name, run.reason));
  if (waiting.empty()) return;
  end_ = {"suspended",
          fmt::format("{} of {} searches wait; {}", waiting.size(), session.runs.size(),
                      fmt::join(waiting, "; ")),
          value(ExitCode::suspended)};
}

End SessionRunner::run() {
  for (const db::SessionSearch& run : store_.read(id_).runs)
    if (run.is_done() && run.exit_code.value_or(0) != 0 && end_.code == 0) end_.code = *run.exit_code;
  bool goes_on = run_all(false);
  const auto any_answered = [this] {
    return std::ranges::any_of(store_.read(id_).runs, [this](const auto& run) { return has_answer(run); });
  };
  while (goes_on && !watch_.stop() && any_answered()) goes_on = run_all(true);
  if (goes_on) end_suspended();
  if (watch_.stop() && end_.state != "failed")
    end_ = {"stopped", watch_.reason(),
            value(watch_.disk_is_full() ? ExitCode::database : ExitCode::interrupted)};
  store_.end(id_, end_.state, end_.reason, end_.code);
  notify_end();
  return end_;
}

/// The best that the database knew of the search's problem, device, target and shapes before it began.
std::optional<double> known_before(const fs::path& database, RowId search) {
  const db::Table table = db::query(database,
                                    "SELECT min(h.score_ns) AS best_ns FROM searches t JOIN searches s ON "
                                    "s.definition_id = t.definition_id AND s.device_id = "
                                    "t.device_id AND s.arch = t.arch AND s.workloads_hash IS "
                                    "t.workloads_hash AND s.started_at < t.started_at JOIN "
                                    "champions h ON h.search = s.id WHERE t.id = :search",
                                    1, kKnownLimit, {{"search", search}});
  return db::rows_of(table).front().known_real("best_ns");  // an aggregate always has its row
}

/// Failing to notify is no failure of the session.
void SessionRunner::notify_search(std::size_t index) {
  try {
    const db::Session session = store_.read(id_);
    const db::SessionSearch& run = session.runs.at(index);
    const std::string text =
        fmt::format("AlphaKernel session {} ({}), {}", id_, session.name, search_sentence(run));
    const Json facts{{"session", id_}, {"name", session.name}, {"search", run.name}, {"state", run.state}};
    if (run.state == "failed") notify_(NotifyEvent::failure, text, facts);
    if (run.search && is_breakthrough(run, known_before(database_, *run.search)))
      notify_(NotifyEvent::breakthrough, text, facts);
  } catch (const std::exception& error) {
    print_stderr("note: no notification: {}\n", error.what());
  }
}

void SessionRunner::notify_end() {
  try {
    const db::Session session = store_.read(id_);
    std::string text = fmt::format("AlphaKernel session {} ({}): {}{}{}", id_, session.name, end_.state,
                                   end_.reason.empty() ? "" : ": ", end_.reason);
    for (const db::SessionSearch& run : session.runs) text += "\n" + search_sentence(run);
    const Json facts{
        {"session", id_}, {"name", session.name}, {"state", end_.state}, {"exit_code", end_.code}};
    notify_(NotifyEvent::end, text, facts);
  } catch (const std::exception& error) {
    print_stderr("note: no notification: {}\n", error.what());
  }
}

/// A device that was there when the session began is not replaced by the CPU when it is lost.
void pin_device(Arguments& arguments, const Target& target) {
  if (has_flag(arguments, "--pool")) return;
  static_cast<void>(take_option(arguments, "--device"));
  arguments.push_back("--device=" + device_flag_of(target));
}

void check_disk(const fs::path& database, const SessionBudgets& budgets) {
  const auto free = free_bytes(database);
  if (!free || *free >= budgets.min_free_mb << 20) return;
  fail(ExitCode::database, "the disk of {} has {} MB free, and a session needs {} (min_free_mb)",
       database.string(), *free >> 20, budgets.min_free_mb);
}

SessionBudgets session_budgets_of(const db::Session& session) {
  const Json limits = limits_of(session);
  return session_budgets_from(JsonReader(limits));
}

/// The session has ended well only when its rows are where they belong.
void go_home(const fs::path& database, RowId id, End& end, const SessionReport& report) {
  db::SessionStore store(database);
  const db::Session session = store.read(id);
  try {
    if (const auto added = bring_home(session, database))
      report.line(fmt::format("merged into {}: {} rows added", home_of(session)->string(), *added));
  } catch (const Error& error) {
    end = {"failed",
           fmt::format("{}, and not merged into {}: {}; session resume {} tries again", end.state,
                       home_of(session)->string(), error.what(), id),
           end.code != 0 ? end.code : value(error.code())};
    store.end(id, end.state, end.reason, end.code);
  }
}

}  // namespace

Arguments arguments_of(const db::SessionSearch& run, const fs::path& database) {
  Arguments arguments = run.arguments;
  arguments.push_back("--db=" + database.string());
  return arguments;
}

void check_session(db::Session& session, const fs::path& database, const ReadGenerate& read, EvaluatedBy by) {
  check_disk(database, session_budgets_of(session));
  std::set<fs::path> outputs;
  for (db::SessionSearch& run : session.runs) {
    try {
      auto generate = read(arguments_of(run, database), "");
      if (!generate) fail(ExitCode::usage, "--help is not an argument of a search");
      SearchRun& search = generate->setup.run;
      if (search.per_shape && by == EvaluatedBy::devices_here) static_cast<void>(timed_shapes(search));
      leave_out_unaskable_models(search);
      run.model = model_names(search.models);
      for (const fs::path& file : search.paths.all())
        if (!outputs.insert(fs::absolute(file).lexically_normal()).second)
          fail(ExitCode::usage, "another search writes {} too", file.string());
      pin_device(run.arguments, search.target);
      static_cast<void>(
          require_audit(*search.problem, generate->flags.unaudited, generate->setup.config, database));
    } catch (const Error& error) {
      fail(error.code(), "search '{}': {}", run.name, error.what());
    }
  }
}

int run_searches(const fs::path& database, RowId id, const ReadGenerate& read, const SessionReport& report) {
  db::SessionLock lock(database);
  if (!lock.take(id)) fail(ExitCode::usage, "session {} is running already", id);
  SessionBudgets budgets;
  {
    db::SessionStore store(database);
    const db::Session session = store.read(id);
    budgets = session_budgets_of(session);
    std::error_code gone;
    fs::current_path(session.folder, gone);
    if (gone) fail(ExitCode::environment, "the folder {} of session {} is gone", session.folder, id);
    store.begin(id);
  }
  const InterruptGuard interrupt;
  SessionWatch watch(database, id, budgets.min_free_mb << 20, interrupt.requested());
  End end = SessionRunner(database, id, watch, budgets, read, report).run();
  // What was interrupted, or waits for answers, goes on; a signal that came after the last search interrupted nothing.
  const bool goes_on = end.state == "suspended" || (end.state == "stopped" && watch.is_interrupted());
  if (!goes_on) go_home(database, id, end, report);
  report.line(fmt::format("session {}: {}{}{}", id, end.state, end.reason.empty() ? "" : ": ", end.reason));
  return end.code;
}

}  // namespace ak::app

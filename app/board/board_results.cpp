// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "app/board/board_figures.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "db/database.h"
#include "db/read/table_rows.h"
#include "db/store/session_store.h"

namespace ak::app {
namespace {

// A few rows by their keys; minutes mean that something else is wrong (chosen).
constexpr std::chrono::milliseconds kQueryTime{60'000};

/// A baseline of the page, and how turns are labelled with it.
struct BoardBaseline {
  std::string_view name, label;
};
constexpr BoardBaseline kBaselines[] = {{"eager", "pytorch eager"}, {"compile", "pytorch compile"}};

// Its model is the one that wrote it, or what it was made of, in this search: that others of the database came to the same
// kernel is not this search's.
constexpr const char* kChampion =
    "SELECT h.variant, h.evaluation, h.score_ns, h.confirmed, d.id AS definition_id, d.name AS definition, "
    "dev.name AS device, dev.kind AS device_kind, v.name AS template, (SELECT p.arm FROM proposals p WHERE "
    "p.search_id = h.search AND p.variant_id = h.variant ORDER BY p.id LIMIT 1) AS arm, (WITH RECURSIVE line "
    "(variant) AS (SELECT h.variant UNION SELECT q.parent_id FROM line l JOIN variant_parents q ON "
    "q.variant_id = l.variant) SELECT c.model FROM line l JOIN proposals p ON p.id = (SELECT min(f.id) FROM "
    "proposals f WHERE f.search_id = h.search AND f.variant_id = l.variant) JOIN "
    "llm_calls c ON c.id = p.llm_call_id LIMIT 1) AS model FROM champions h JOIN searches s ON s.id = "
    "h.search JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id JOIN "
    "variants v ON v.id = h.variant WHERE h.search = :search";

// The last turns of the kernel with a baseline, in whichever search they were taken, on the shapes of this one.
constexpr const char* kTurns =
    "SELECT w.workload_uid AS workload, t.speedup, t.low, t.high, w.weight FROM baseline_turns t JOIN "
    "workloads w ON w.id = "
    "t.workload_id WHERE t.variant = :variant AND t.device = :device AND t.baseline = :label AND t.times = "
    "'device' AND w.workload_uid IN (SELECT x.workload_uid FROM measurements m JOIN workloads x ON x.id = "
    "m.workload_id WHERE m.evaluation_id = :evaluation AND m.role = 'candidate' AND m.cold = 1) ORDER BY "
    "t.timed_at";

// Where the kernel itself took no turns: the baseline's time in those of another kernel of the same definition there.
constexpr const char* kKnownBaselines =
    "SELECT w.workload_uid AS workload, 1000.0 * t.baseline_us / m.median_ns AS speedup, NULL AS low, NULL "
    "AS high, "
    "w.weight FROM measurements m JOIN workloads w ON w.id = m.workload_id JOIN workloads x ON "
    "x.definition_id = w.definition_id AND x.workload_uid = w.workload_uid JOIN baseline_turns t ON "
    "t.workload_id = x.id WHERE m.evaluation_id = :evaluation AND m.role = 'candidate' AND m.cold = 1 AND "
    "m.median_ns > 0 AND t.device = :device AND t.baseline = :label AND t.times = 'device' "
    "ORDER BY t.timed_at";

// One row a shape that was timed: all of them have to have a speed-up where the task is to have one.
constexpr const char* kShapes =
    "SELECT DISTINCT w.workload_uid AS workload FROM measurements m JOIN workloads w ON w.id = m.workload_id "
    "WHERE m.evaluation_id = :evaluation AND m.role = 'candidate' AND m.cold = 1";

constexpr const char* kTimes =
    "SELECT m.median_ns, m.ci_low_ns, m.ci_high_ns FROM measurements m WHERE m.evaluation_id = :evaluation "
    "AND m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0";

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// One speed-up a shape, the last row of each.
std::map<std::string, BoardSpeedup> speedups_of(const db::Table& table) {
  std::map<std::string, BoardSpeedup> shapes;
  for (const db::TableRow& row : db::rows_of(table)) {
    if (row.real("speedup") <= 0) continue;
    shapes[row.text("workload")] = {
        .speedup = row.real("speedup"),
        .weight = std::max(row.real("weight"), 1e-9),  // as fast_p of docs/compare.md
        .low = row.known_real("low"),
        .high = row.known_real("high")};
  }
  return shapes;
}

/// In quotes where a shell would take it apart, or for something else.
std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_=./:,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// What is read of one board.
class BoardReader {
 public:
  BoardReader(const BoardFolder& folder, const std::string& device)
      : folder_(folder), device_(device), has_rows_(std::filesystem::exists(folder.database)) {}

  [[nodiscard]] Json board();

 private:
  [[nodiscard]] Json task_json(const TaskState& task);
  void add_state(const TaskState& task, Json& json) const;
  void add_kernel(const TaskState& task, const BestRun& best, Json& json);
  void add_commands(const BestRun& best, bool emulated, Json& json) const;
  void add_speedups(const db::TableRow& champion, Json& json, JudgedTask (&judged)[2]);
  [[nodiscard]] db::Table query(const char* sql, const db::QueryValues& values) const {
    return db::query(folder_.database, sql, 0, kQueryTime, values);
  }
  [[nodiscard]] Json fast_json() const;
  [[nodiscard]] static Json cells_json(const Json& tasks);

  const BoardFolder& folder_;
  std::string device_;
  bool has_rows_;
  std::vector<JudgedTask> judged_[2];  ///< by kBaselines
};

/// "agent:claude" of "agent:/home/me/bin/claude": where a program or a folder is, is nobody's business.
std::string shown_model(const std::string& model) {
  const std::size_t colon = model.find(':'), slash = model.rfind('/');
  constexpr std::string_view kWithPaths[] = {"agent", "command", "mailbox", "replay"};
  const bool has_path =
      colon != std::string::npos && slash != std::string::npos && slash > colon &&
      std::ranges::find(kWithPaths, std::string_view(model).substr(0, colon)) != std::end(kWithPaths);
  return has_path ? model.substr(0, colon + 1) + model.substr(slash + 1) : model;
}

std::string author_of(const db::TableRow& champion) {
  if (const std::string model = champion.text("model"); !model.empty()) return shown_model(model);
  return champion.text("template") + (champion.text("arm") == "start" ? ", as it is" : ", searched");
}

void BoardReader::add_speedups(const db::TableRow& champion, Json& json, JudgedTask (&judged)[2]) {
  for (std::size_t i = 0; i < std::size(kBaselines); ++i) {
    const db::Cell label = std::string(kBaselines[i].label), device = champion.text("device");
    const db::QueryValues values{{"variant", champion.integer("variant")},
                                 {"evaluation", champion.integer("evaluation")},
                                 {"device", device},
                                 {"label", label}};
    const auto turns = speedups_of(query(kTurns, values)),
               known = speedups_of(query(kKnownBaselines, values));
    const db::Table timed = query(kShapes, {{"evaluation", champion.integer("evaluation")}});
    std::vector<BoardSpeedup> shapes;
    bool in_turns = true;
    for (const db::TableRow& shape : db::rows_of(timed)) {
      const std::string uid = shape.text("workload");
      in_turns = in_turns && turns.contains(uid);
      const auto& from = turns.contains(uid) ? turns : known;
      if (const auto found = from.find(uid); found != from.end()) shapes.push_back(found->second);
    }
    // Of some shapes alone the mean would be another task's.
    const auto speedup = shapes.size() == timed.rows.size() ? mean_speedup(shapes) : std::nullopt;
    judged[i].speedup = speedup;
    if (!speedup) continue;
    json["speedups"][std::string(kBaselines[i].name)] = {{"speedup", speedup->speedup},
                                                         {"low", or_null(speedup->low)},
                                                         {"high", or_null(speedup->high)},
                                                         {"in_turns", in_turns}};
  }
}

/// What measures the kernel again: anywhere, and in the board's folder with the database named by the environment.
void BoardReader::add_commands(const BestRun& best, bool emulated, Json& json) const {
  Arguments words{"alphakernel", emulated ? "evaluate" : "baselines"};
  Arguments last{"--baselines=eager,compile"};
  if (emulated) last = {"--device=emulator", "--arch=" + device_.substr(device_.rfind(' ') + 1)};
  Arguments here = words;
  const std::string below = "--problem=" + folder_.path.string() + "/";
  for (const std::string& argument : kernel_arguments(folder_, best)) {
    words.push_back(argument);
    here.push_back(argument.starts_with(below) ? "--problem=" + argument.substr(below.size()) : argument);
  }
  words.push_back("--db=" + folder_.database.string());
  for (Arguments* list : {&words, &here}) list->insert(list->end(), last.begin(), last.end());
  json["command"] = shell_line(words);
  json["folder_command"] = shell_line(here);
}

void BoardReader::add_kernel(const TaskState& task, const BestRun& best, Json& json) {
  const db::Table table = query(kChampion, {{"search", best.search}});
  if (table.rows.empty()) return;
  const db::TableRow champion = db::rows_of(table).front();
  const bool emulated = champion.text("device_kind") != "cuda";
  const double time_us = champion.real("score_ns") / 1000;
  json["search"] = best.search;
  json["variant"] = champion.integer("variant");
  json["by"] = author_of(champion);
  json[emulated ? "cost_us" : "time_us"] = time_us;
  json["confirmed"] = champion.integer("confirmed") != 0;
  const db::Table times = query(kTimes, {{"evaluation", champion.integer("evaluation")}});
  if (!emulated && times.rows.size() == 1) {
    const db::TableRow row = db::rows_of(times).front();
    if (const auto low = row.known_real("ci_low_ns")) json["time_low_us"] = *low / 1000;
    if (const auto high = row.known_real("ci_high_ns")) json["time_high_us"] = *high / 1000;
  }
  if (task.verdict.is_object() && task.verdict.value("of", Json()) == judged_kernel(best)) {
    json["verdict"] = task.verdict;
    json["verdict"].erase("of");
  }
  const auto session = session_of(folder_, best.run);
  if (const auto floor = session ? session->runs.front().stats.limit_ns : std::nullopt) {
    json["floor_us"] = *floor / 1000;
    json["share_of_floor"] = *floor / 1000 / time_us;
  }
  JudgedTask judged[2] = {{.correct = true, .speedup = {}}, {.correct = true, .speedup = {}}};
  add_speedups(champion, json, judged);
  if (json["degenerate"].is_null())
    for (std::size_t i = 0; i < 2; ++i) judged_[i].back() = judged[i];
  add_commands(best, emulated, json);
}

/// How far the task is, from its last search of its present content.
void BoardReader::add_state(const TaskState& task, Json& json) const {
  const bool failed = !task.failure.empty() && task.failure != kNeedsModel;
  json["status"] = failed ? "failed" : "waiting";
  json["reason"] = task.failure;
  double cost_usd = 0, spent_s = 0;
  std::int64_t tokens = 0, evaluations = 0;
  bool price_known = true;
  for (const TaskRun& run : task.runs) {
    if (run.device != device_ || !has_rows_) continue;
    const auto session = session_of(folder_, run);
    if (!session) continue;
    const db::SessionSearch& search = session->runs.front();
    cost_usd += search.stats.cost_usd;
    price_known = price_known && search.stats.price_known;
    spent_s += static_cast<double>(search.stats.spent_ms) / 1000;
    tokens += search.stats.tokens;
    evaluations += search.stats.evaluations;
    if (run.content != task.content) continue;
    const bool killed = search.state == "running" && !db::SessionLock(folder_.database).is_taken(session->id);
    json["status"] = search.state == "finished" ? "no kernel" : killed ? "killed" : search.state;
    json["reason"] = search.reason;
    const std::size_t kind = run.way.find('/') + 1;  // "template/MODEL"
    json["way"] = run.way.substr(0, kind) + shown_model(run.way.substr(kind));
  }
  json["evaluations"] = evaluations;
  json["tokens"] = tokens;
  json["cost_usd"] = price_known ? Json(cost_usd) : Json();
  json["spent_s"] = spent_s;
}

Json BoardReader::task_json(const TaskState& task) {
  Json json{{"task", task.name},
            {"file", task.file.empty() ? Json() : Json(task.file)},
            {"cell", task.cell.empty() ? Json() : Json(task.cell)},
            {"note", task.note.empty() ? Json() : Json(task.note)},
            {"degenerate", task.degenerate.empty() ? Json() : Json(task.degenerate)},
            {"speedups", Json::object()},
            {"verdict", nullptr}};
  if (task.degenerate.empty())
    for (auto& judged : judged_) judged.emplace_back();
  add_state(task, json);
  const auto best = has_rows_ ? best_run(folder_, task, device_) : std::nullopt;
  if (!best) return json;
  add_kernel(task, *best, json);
  if (json.contains("search") && json["status"] == "no kernel") json["status"] = "found";
  return json;
}

Json BoardReader::fast_json() const {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::size(kBaselines); ++i) {
    for (const double p : kFastLevels) {
      const FastShare share = fast_share(judged_[i], p);
      list.push_back({{"baseline", std::string(kBaselines[i].name)},
                      {"p", p},
                      {"tasks", share.tasks},
                      {"fast", share.fast},
                      {"fast_p", share.share()},
                      {"least", share.least},
                      {"most", share.most}});
    }
  }
  return list;
}

/// The geometric mean of the shares of the floor of a cell's tasks, where all are known.
Json BoardReader::cells_json(const Json& tasks) {
  std::map<std::string, std::vector<double>> shares;
  std::map<std::string, std::size_t> all;
  for (const Json& task : tasks) {
    if (task["cell"].is_null()) continue;
    const std::string cell = task["cell"];
    ++all[cell];
    if (task.contains("share_of_floor")) shares[cell].push_back(task["share_of_floor"].get<double>());
  }
  Json list = Json::array();
  for (const auto& [cell, count] : all) {
    const std::vector<double>& known = shares[cell];
    double logs = 0;
    for (const double share : known) logs += std::log(share);
    const bool whole = known.size() == count;
    list.push_back({{"cell", cell},
                    {"shapes", count},
                    {"timed", known.size()},
                    {"share_of_floor", whole ? Json(std::exp(logs / static_cast<double>(count))) : Json()}});
  }
  return list;
}

Json BoardReader::board() {
  Json tasks = Json::array();
  std::size_t found = 0, ranked = 0;
  double cost_usd = 0, spent_s = 0;
  bool price_known = true;
  for (const TaskState& task : folder_.tasks) {
    if (task.gone) continue;
    tasks.push_back(task_json(task));
    const Json& json = tasks.back();
    ranked += json["degenerate"].is_null();
    found += json.contains("search");
    price_known = price_known && !json["cost_usd"].is_null();
    cost_usd += json["cost_usd"].is_null() ? 0 : json["cost_usd"].get<double>();
    spent_s += json["spent_s"].get<double>();
  }
  return {{"board", folder_.name},
          {"question", folder_.question},
          {"folder", folder_.path.string()},
          {"database", folder_.database.string()},
          {"device", device_},
          {"found", found},
          {"ranked", ranked},
          {"cost_usd", price_known ? Json(cost_usd) : Json()},
          {"spent_s", spent_s},
          {"fast_p", fast_json()},
          {"cells", cells_json(tasks)},
          {"tasks", std::move(tasks)}};
}

/// The device of the runs that a part of its name means.
std::string chosen_device(const BoardFolder& folder, const std::string& part) {
  if (part.empty()) return folder.device;
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  std::vector<std::string> known;
  for (const TaskState& task : folder.tasks)
    for (const TaskRun& run : task.runs) {
      if (lower(run.device).find(lower(part)) != std::string::npos) return run.device;
      if (std::ranges::find(known, run.device) == known.end()) known.push_back(run.device);
    }
  fail(ExitCode::usage, "nothing of {} ran on a device '{}'; devices: {}", folder.name, sanitize(part, 60),
       fmt::join(known, ", "));
}

}  // namespace

std::optional<db::Session> session_of(const BoardFolder& folder, const TaskRun& run) {
  if (!std::filesystem::exists(folder.database)) return std::nullopt;
  db::SessionStore store(folder.database, db::OpenMode::read_only);
  const auto id = store.find_uid(run.session);
  return id ? std::optional(store.read(*id)) : std::nullopt;
}

std::optional<BestRun> best_run(const BoardFolder& folder, const TaskState& task, const std::string& device,
                                bool from_file) {
  std::optional<BestRun> best;
  double best_ns = 0;
  for (const TaskRun& run : task.runs) {
    if (run.device != device || run.content != task.content || (from_file && run.problem.empty())) continue;
    const auto session = session_of(folder, run);
    if (!session || !session->runs.front().search) continue;
    const RowId search = *session->runs.front().search;
    const db::Table champion =
        db::query(folder.database, "SELECT score_ns, variant FROM champions WHERE search = :search", 1,
                  kQueryTime, {{"search", search}});
    if (champion.rows.empty()) continue;
    const db::TableRow row = db::rows_of(champion).front();
    if (best && row.real("score_ns") >= best_ns) continue;
    best = {.run = run, .search = search, .variant = row.integer("variant")};
    best_ns = row.real("score_ns");
  }
  return best;
}

Json judged_kernel(const BestRun& best) {
  return {{"session", best.run.session},
          {"variant", best.variant},
          {"content", best.run.content},
          {"device", best.run.device}};
}

std::string shell_line(const Arguments& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

Arguments kernel_arguments(const BoardFolder& folder, const BestRun& best) {
  Arguments arguments{fmt::format("search:{}", best.search)};
  const auto session = session_of(folder, best.run);
  if (!session) return arguments;
  for (const std::string& argument : session->runs.front().arguments) {
    // The board's folder may have been moved since.
    if (argument.starts_with("--problem=") && !best.run.problem.empty())
      arguments.push_back("--problem=" + (folder.path / best.run.problem).string());
    else
      for (const char* flag : {"--problem=", "--shape=", "--unaudited"})
        if (argument.starts_with(flag)) arguments.push_back(argument);
  }
  return arguments;
}

Json board_json(const BoardFolder& folder, const std::string& device) {
  return BoardReader(folder, chosen_device(folder, device)).board();
}

}  // namespace ak::app

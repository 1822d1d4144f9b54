// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/trajectories.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/llm/api/redact.h"
#include "app/exchange/machine_paths.h"
#include "core/error.h"
#include "core/text/file_checks.h"
#include "core/text/format_version.h"
#include "core/text/hash.h"
#include "core/text/json.h"
#include "db/read/reader.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr Format kTrajectoryFormat{.name = "a trajectory"};
constexpr auto kReadTime = std::chrono::hours(2);  // of all questions to the database; chosen

constexpr const char* kCalls =
    "SELECT id FROM llm_calls WHERE status = 'ok' AND ifnull(:search, search_id) = search_id ORDER BY id";
constexpr const char* kCall = R"sql(
SELECT lower(hex(c.uid)) AS id, lower(hex(s.uid)) AS search, s.id AS search_row, d.problem AS algorithm, d.name AS definition,
       d.params, s.arch, dev.name AS device, dev.kind AS device_kind, x.alphakernel_version AS version, c.model, c.arm,
       c.prompt_version, c.bottleneck, c.request, c.answer, c.stop, c.input_tokens, c.output_tokens, c.tokens_reported,
       c.cost_usd, c.reward
FROM llm_calls c JOIN searches s ON s.id = c.search_id JOIN definitions d ON d.id = s.definition_id
JOIN devices dev ON dev.id = s.device_id JOIN environments x ON x.id = s.environment_id
WHERE c.id = :call)sql";
// Of an evaluation that was not conclusive and its retry the last.
constexpr const char* kCandidates = R"sql(
SELECT p.variant_id AS variant_row, v.variant_hash AS variant, v.name, v.tunables, t.text AS source, e.id AS evaluation,
       e.status, e.stage, e.gate, e.message, e.diagnostics, e.score_ns, h.change, h.reason, h.expected_speedup,
       h.measured_speedup, h.parent_id AS stated_parent,
       (SELECT r.verdict FROM hypothesis_results r WHERE r.hypothesis = h.id) AS verdict
FROM proposals p JOIN variants v ON v.id = p.variant_id JOIN sources t ON t.id = v.source_id
LEFT JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
LEFT JOIN hypotheses h ON h.proposal_id = p.id
WHERE p.llm_call_id = :call AND NOT EXISTS (SELECT 1 FROM proposals l WHERE l.llm_call_id = p.llm_call_id AND
  l.variant_id = p.variant_id AND l.id > p.id) ORDER BY p.id)sql";
// Of each the best score that its search knew before the candidate. The table has parents by variant, of all searches that
// made it: where a hypothesis says which it is about, others have to be of this search.
constexpr const char* kParents = R"sql(
SELECT v.variant_hash AS variant, v.id = :stated AS is_stated, v.name, v.tunables, t.text AS source,
       (SELECT min(f.score_ns) FROM evaluations f WHERE f.variant_id = v.id AND f.search_id = :search
          AND f.status IN ('ok', 'duplicate') AND f.id < ifnull(:before, 9223372036854775807)) AS score_ns
FROM variant_parents q JOIN variants v ON v.id = q.parent_id JOIN sources t ON t.id = v.source_id
WHERE q.variant_id = :variant AND (:stated IS NULL OR v.id = :stated OR EXISTS
  (SELECT 1 FROM evaluations f WHERE f.variant_id = v.id AND f.search_id = :search)) ORDER BY v.variant_hash)sql";
constexpr const char* kChecks =
    "SELECT w.name AS workload, min(c.passed) AS passed, max(c.max_error) AS max_error FROM checks c JOIN "
    "workloads w ON w.id = c.workload_id WHERE c.evaluation_id = :evaluation GROUP BY w.name ORDER BY w.name";
constexpr const char* kTimes =
    "SELECT w.name AS workload, m.method, m.cold, m.median_ns FROM measurements m JOIN workloads w ON w.id = "
    "m.workload_id WHERE m.evaluation_id = :evaluation AND m.role = 'candidate' ORDER BY w.name, m.cold";
// Also of the evaluation that profiled it; samples of lines are not.
constexpr const char* kCounters =
    "SELECT ifnull(w.name, '') AS workload, m.kernel, m.name, m.value FROM evaluations e JOIN metrics m ON "
    "m.evaluation_id = e.id LEFT JOIN workloads w ON w.id = m.workload_id WHERE e.variant_id = :variant AND "
    "e.search_id = :search AND m.name NOT GLOB 'line/*' ORDER BY 1, 2, 3, e.id";

/// `secrets` and what the environment of this process holds under a name of keys.
std::vector<std::string> with_secrets_here(std::vector<std::string> secrets) {
  constexpr std::size_t kLeast = 12;  // bytes; a shorter one would be taken out of words
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const bool secret =
        std::ranges::any_of(std::initializer_list<std::string_view>{"KEY", "TOKEN", "SECRET", "PASSWORD"},
                            [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
    if (secret && text.size() > name.size() + kLeast) secrets.emplace_back(text.substr(name.size() + 1));
  }
  return secrets;
}

/// The address of a server of one's own is left out: "local:[address]#NAME"; so is the folder of a mailbox and of a
/// coding agent's program, whatever characters are in it.
std::string without_address(std::string model) {
  if (model.starts_with("mailbox:")) return "mailbox:[path]";
  if (model.starts_with("agent:") && model.find('/') != std::string::npos) return "agent:[path]";
  const std::size_t scheme = model.find("://"), begin = model.find(':') + 1;
  if (scheme == std::string::npos || begin > scheme) return model;
  return model.replace(begin, std::min(model.find('#'), model.size()) - begin, "[address]");
}

Json real_or_null(std::optional<double> value) { return value ? Json(*value) : Json(); }

Json text_or_null(const db::TableRow& row, std::string_view column) {
  std::string text = row.text(column);
  return text.empty() ? Json() : Json(std::move(text));
}

Json json_of(const db::TableRow& row, std::string_view column) {
  Json json = try_parse_json(row.text(column));
  return json.is_discarded() ? Json() : json;
}

/// Written beside the file, which it becomes at the end.
class FileInParts {
 public:
  explicit FileInParts(const fs::path& file)
      : file_(file), part_(fmt::format("{}.{:016x}.part", file.string(), random_seed())) {
    require_writable(file_);
    out_.open(part_, std::ios::binary | std::ios::trunc);
  }
  FileInParts(const FileInParts&) = delete;
  FileInParts& operator=(const FileInParts&) = delete;
  ~FileInParts() {
    std::error_code none;
    if (!done_) fs::remove(part_, none);
  }
  void add(const std::string& line) {
    out_ << line << '\n';
    if (!out_) refuse();
  }
  void finish() {
    out_.close();
    if (!out_ || std::rename(part_.c_str(), file_.c_str()) != 0) refuse();
    done_ = true;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(ExitCode::output, "cannot write {}: {}", file_.string(), std::strerror(errno));
  }
  fs::path file_, part_;
  std::ofstream out_;
  bool done_ = false;
};

class TrajectoryWriter {
 public:
  TrajectoryWriter(const fs::path& database, std::optional<RowId> search, std::vector<std::string> keys)
      : reader_(database, kReadTime), redactor_(with_secrets_here(std::move(keys))) {
    if (search) check_search(*search);
    calls_ = reader_.query(kCalls, 0, {{"search", search ? db::Cell(*search) : db::Cell()}});
    note_folders(database);
  }

  TrajectoryReport write(const fs::path& file) {
    FileInParts out(file);
    for (const db::TableRow& call : db::rows_of(calls_)) {
      Json line = trajectory(call.integer("id"));
      clean(line);
      out.add(line.dump(-1, ' ', false, Json::error_handler_t::replace));
      ++report_.answers;
    }
    out.finish();
    report_.searches = searches_.size();
    return report_;
  }

 private:
  void check_search(RowId search) {
    if (reader_.query("SELECT 1 FROM searches WHERE id = :search", 1, {{"search", search}}).rows.empty())
      fail(ExitCode::usage, "there is no search {}", search);
  }

  /// Where this user and the sessions of the database work, the longest first.
  void note_folders(const fs::path& database) {
    std::error_code none;
    std::set<std::string> folders{fs::current_path(none).string(),
                                  fs::absolute(database, none).parent_path().string()};
    if (const char* home = std::getenv("HOME")) folders.insert(home);
    const db::Table sessions = reader_.query("SELECT DISTINCT folder FROM sessions", 0);
    for (const db::TableRow& row : db::rows_of(sessions)) folders.insert(row.text("folder"));
    folders_.assign(folders.begin(), folders.end());
    std::ranges::stable_sort(folders_, std::greater(),
                             [](const std::string& folder) { return folder.size(); });
  }

  Json trajectory(RowId call) {
    const db::Table table = reader_.query(kCall, 1, {{"call", call}});
    const db::TableRow row = db::rows_of(table).front();
    const RowId search = row.integer("search_row");
    searches_.insert(search);
    Json line = Json::object();
    set_version(kTrajectoryFormat, line);
    for (const char* column : {"id", "search", "algorithm", "definition"}) line[column] = row.text(column);
    line["params"] = json_of(row, "params");
    for (const char* column : {"arch", "device", "device_kind", "version"}) line[column] = row.text(column);
    line["model"] = without_address(row.text("model"));
    for (const char* column : {"arm", "prompt_version", "bottleneck"})
      line[column] = text_or_null(row, column);
    line["question"] = json_of(row, "request");
    if (line["question"].is_object()) line["question"].erase("model");
    line["answer"] = row.text("answer");
    line["stop"] = row.text("stop");
    line["tokens"] = {{"input", row.integer("input_tokens")},
                      {"output", row.integer("output_tokens")},
                      {"reported", row.integer("tokens_reported") != 0}};
    line["cost_usd"] = real_or_null(row.known_real("cost_usd"));
    line["reward"] = real_or_null(row.known_real("reward"));
    add_candidates(call, search, line);
    return line;
  }

  void add_candidates(RowId call, RowId search, Json& line) {
    std::map<std::string, Json> parents;
    Json candidates = Json::array();
    const db::Table table = reader_.query(kCandidates, 0, {{"call", call}});
    for (const db::TableRow& row : db::rows_of(table)) {
      candidates.push_back(candidate(row, search, parents));
      ++report_.candidates;
    }
    line["parents"] = Json::array();
    for (auto& [hash, parent] : parents) line["parents"].push_back(std::move(parent));
    line["candidates"] = std::move(candidates);
  }

  Json candidate(const db::TableRow& row, RowId search, std::map<std::string, Json>& parents) {
    Json json{{"variant", row.text("variant")},
              {"name", row.text("name")},
              {"tunables", json_of(row, "tunables")},
              {"source", row.text("source")}};
    const auto score_ns = row.known_real("score_ns");
    const auto parent_ns = add_parents(row, search, json, parents);
    json["verdict"] = {{"status", text_or_null(row, "status")},
                       {"stage", text_or_null(row, "stage")},
                       {"gate", text_or_null(row, "gate")},
                       {"message", row.text("message")},
                       {"diagnostics", json_of(row, "diagnostics")}};
    json["score_ns"] = real_or_null(score_ns);
    json["speedup"] = score_ns && parent_ns && *score_ns > 0 ? Json(*parent_ns / *score_ns) : Json();
    json["hypothesis"] = hypothesis(row);
    add_measured(row, search, json);
    return json;
  }

  /// Returns the score of the one that its hypothesis is about, else of the fastest.
  std::optional<double> add_parents(const db::TableRow& row, RowId search, Json& json,
                                    std::map<std::string, Json>& parents) {
    std::optional<double> best_ns;
    json["parents"] = Json::array();
    const bool states = row.integer("stated_parent") != 0;
    const db::Table table = reader_.query(kParents, 0,
                                          {{"variant", row.integer("variant_row")},
                                           {"search", search},
                                           {"before", row.cell("evaluation")},
                                           {"stated", row.cell("stated_parent")}});
    for (const db::TableRow& parent : db::rows_of(table)) {
      const std::string hash = parent.text("variant");
      const auto score_ns = parent.known_real("score_ns");
      const bool counts = !states || parent.integer("is_stated") != 0;
      if (score_ns && counts) best_ns = std::min(best_ns.value_or(*score_ns), *score_ns);
      json["parents"].push_back(hash);
      parents.try_emplace(hash, Json{{"variant", hash},
                                     {"name", parent.text("name")},
                                     {"tunables", json_of(parent, "tunables")},
                                     {"source", parent.text("source")},
                                     {"score_ns", real_or_null(score_ns)}});
    }
    return best_ns;
  }

  static Json hypothesis(const db::TableRow& row) {
    const auto expected = row.known_real("expected_speedup");
    if (!expected) return {};
    return {{"change", row.text("change")},
            {"why", row.text("reason")},
            {"expected_speedup", *expected},
            {"measured_speedup", real_or_null(row.known_real("measured_speedup"))},
            {"verdict", row.text("verdict")}};
  }

  void add_measured(const db::TableRow& row, RowId search, Json& json) {
    for (const char* list : {"checks", "times", "counters"}) json[list] = Json::array();
    const db::QueryValues evaluation{{"evaluation", row.cell("evaluation")}};
    const db::Table checks = reader_.query(kChecks, 0, evaluation);
    for (const db::TableRow& check : db::rows_of(checks))
      json["checks"].push_back({{"workload", check.text("workload")},
                                {"passed", check.integer("passed") != 0},
                                {"max_error", real_or_null(check.known_real("max_error"))}});
    const db::Table times = reader_.query(kTimes, 0, evaluation);
    for (const db::TableRow& time : db::rows_of(times))
      json["times"].push_back({{"workload", time.text("workload")},
                               {"method", time.text("method")},
                               {"cold", time.integer("cold") != 0},
                               {"median_ns", real_or_null(time.known_real("median_ns"))}});
    const db::Table counters =
        reader_.query(kCounters, 0, {{"variant", row.integer("variant_row")}, {"search", search}});
    for (const db::TableRow& counter : db::rows_of(counters)) {
      const std::string workload = counter.text("workload"), kernel = counter.text("kernel");
      Json& list = json["counters"];
      if (list.empty() || list.back()["workload"] != workload || list.back()["kernel"] != kernel)
        list.push_back({{"workload", workload}, {"kernel", kernel}, {"values", Json::object()}});
      list.back()["values"][counter.text("name")] = real_or_null(counter.known_real("value"));
    }
  }

  std::string clean(const std::string& text) {
    const std::string keyless = redactor_(text);
    std::string pathless = without_machine_paths(keyless, folders_);
    report_.keys += keyless != text;
    report_.paths += pathless != keyless;
    return pathless;
  }

  /// Every text and name in it.
  void clean(Json& json) {
    if (json.is_string()) {
      json = clean(json.get_ref<const std::string&>());
    } else if (json.is_array()) {
      for (Json& part : json) clean(part);
    } else if (json.is_object()) {
      Json names = Json::object();
      for (auto& [name, part] : json.items()) {
        clean(part);
        names[clean(name)] = std::move(part);
      }
      json = std::move(names);
    }
  }

  db::Reader reader_;
  agent::Redactor redactor_;
  db::Table calls_;
  std::vector<std::string> folders_;
  std::set<RowId> searches_;
  TrajectoryReport report_;
};

}  // namespace

TrajectoryReport export_trajectories(const fs::path& database, const fs::path& file,
                                     std::optional<RowId> search, std::vector<std::string> keys) {
  return TrajectoryWriter(database, search, std::move(keys)).write(file);
}

}  // namespace ak::app

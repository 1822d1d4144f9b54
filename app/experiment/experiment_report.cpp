// SPDX-License-Identifier: Apache-2.0
#include "app/experiment/experiment_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>

#include "build_commit.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "db/database.h"

namespace ak::app {
namespace {

// Copies are measured in the same experiment, by runs of the algorithm `copy`.
constexpr const char* kCopyBandwidth =
    "SELECT max(r.memory_bandwidth_gbs) AS gbps FROM benchmark_results r JOIN searches s ON s.id = r.search "
    "JOIN definitions d ON d.id = s.definition_id WHERE d.problem = 'copy' AND r.output_correct = 1";

constexpr const char* kRuns =
    "SELECT x.search, x.definition, x.device, x.device_kind, x.arch, x.strategy, x.seed, x.status, x.reason, "
    "x.evaluations, x.verified, round((julianday(x.ended_at) - julianday(x.started_at)) * 86400, 1) AS "
    "seconds, x.command FROM experiments x WHERE x.search IN ({searches}) ORDER BY x.search";

// Searches of single shapes come before the set that they lead to, which is the run's own search.
constexpr const char* kRunOfSearch =
    "SELECT s.id AS search, (SELECT count(*) FROM ({searches}) o WHERE o.id < s.id) AS run FROM searches s";

constexpr const char* kResults =
    "SELECT r.search, r.definition, r.template, r.tunables, r.workload, r.latency_ms, r.emulated_cost_us, "
    "r.throughput_tflops, r.memory_bandwidth_gbs, "
    "100.0 * r.memory_bandwidth_gbs / (SELECT gbps FROM ({copy})) AS pct_of_copy, "
    "100.0 * r.memory_efficiency AS pct_of_peak, r.speedup_vs_naive, r.speedup_vs_pytorch, r.occupancy, "
    "r.register_usage, r.shared_mem_usage, r.max_error FROM searches s JOIN benchmark_results r ON "
    "r.evaluation = "
    "coalesce((SELECT h.evaluation FROM champions h WHERE h.search = s.id), (SELECT e.id FROM evaluations e "
    "WHERE e.search_id = s.id AND e.variant_id = s.best_variant_id ORDER BY e.id DESC LIMIT 1)) "
    "WHERE (r.method IS NOT NULL OR r.workload IS NULL) AND s.id IN ({searches}) ORDER BY r.search, "
    "r.workload";

constexpr const char* kFailures =
    "SELECT search, status, count(*) AS variants, min(message) AS message FROM failures GROUP BY search, "
    "status ORDER BY search, status";

std::string replaced(std::string text, std::string_view name, const std::string& value) {
  const std::size_t at = text.find(name);
  return at == std::string::npos ? text : text.replace(at, name.size(), value);
}

/// {copy} and {searches} stand for the queries above and of searches_of_runs().
Json rows(const ResultFolder& folder, const std::string& query) {
  const std::string sql =
      replaced(replaced(query, "{copy}", kCopyBandwidth), "{searches}", searches_of_runs());
  return parse_json(
      db::render(db::query(folder.database(), sql, 0, kExperimentQueryTime), db::TableFormat::json));
}

Json first_row(const ResultFolder& folder, const std::string& sql) {
  const Json all = rows(folder, sql);
  return all.empty() ? Json::object() : all.front();
}

/// Adds the name of the run to rows that have the number of a search of it.
Json named(const Json& rows_of_searches, const Manifest& manifest, const ResultFolder& folder) {
  std::map<std::int64_t, std::size_t> run_of_search;
  for (const Json& row : rows(folder, kRunOfSearch))
    run_of_search[row["search"].get<std::int64_t>()] = row["run"].get<std::size_t>();
  Json list = Json::array();
  for (const Json& row : rows_of_searches) {
    Json entry = {{"run", manifest.runs.at(run_of_search.at(row["search"].get<std::int64_t>())).name}};
    entry.update(row);
    list.push_back(std::move(entry));
  }
  return list;
}

/// The value of the expectation's query; null when there is no row or the value is NULL.
Json value_of(const Expectation& expectation, const Manifest& manifest, const ResultFolder& folder) {
  const std::string where = fmt::format("{}: expectation '{}'", manifest.file.string(), expectation.name);
  db::Table table;
  try {
    table = db::query(folder.database(), sql_of(expectation, manifest), 2, kExperimentQueryTime);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", where, error.what());
  }
  if (table.columns.size() != 1 || table.rows.size() > 1)
    fail(ExitCode::bad_input, "{}: expected a SELECT of one value, got {} columns and {} rows", where,
         table.columns.size(), table.rows.size());
  if (table.rows.empty()) return nullptr;
  const db::Cell& cell = table.rows.front().front();
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (std::holds_alternative<std::monostate>(cell)) return nullptr;
  fail(ExitCode::bad_input, "{}: expected a number", where);
}

bool within(const Expectation& expectation, double value) {
  return (!expectation.at_least || value >= *expectation.at_least) &&
         (!expectation.at_most || value <= *expectation.at_most) &&
         (!expectation.equals || value == *expectation.equals);
}

Json judge(const Expectation& expectation, const Manifest& manifest, const ResultFolder& folder,
           bool on_gpu) {
  Json json = {{"name", expectation.name}, {"unit", expectation.unit}};
  if (expectation.at_least) json["at_least"] = *expectation.at_least;
  if (expectation.at_most) json["at_most"] = *expectation.at_most;
  if (expectation.equals) json["equals"] = *expectation.equals;
  json["value"] = nullptr;
  json["status"] = "skipped";
  if (expectation.needs_gpu && !on_gpu) return json;
  try {
    json["value"] = value_of(expectation, manifest, folder);
  } catch (const Error& error) {  // the runs behind it may have taken hours, and their report counts more
    print_stderr("note: {}\n", error.what());
  }
  if (json["value"].is_null()) {
    json["status"] = "no_value";
  } else {
    json["status"] = within(expectation, json["value"].get<double>()) ? "met" : "missed";
  }
  return json;
}

std::string kernel_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

void try_expectations(const Manifest& manifest, const ResultFolder& folder) {
  static_cast<void>(db::open_store(folder.database()));
  for (const Expectation& expectation : manifest.expectations)
    static_cast<void>(value_of(expectation, manifest, folder));
}

Json report_json(const Manifest& manifest, const ExperimentEnd& end, const ResultFolder& folder,
                 bool on_gpu) {
  Json report = {{"experiment", manifest.name},
                 {"question", manifest.question},
                 {"status", end.status},
                 {"reason", end.reason},
                 {"copy_bandwidth_gbps", first_row(folder, kCopyBandwidth)["gbps"]},
                 {"runs", named(rows(folder, kRuns), manifest, folder)},
                 {"results", named(rows(folder, kResults), manifest, folder)},
                 {"failures", named(rows(folder, kFailures), manifest, folder)},
                 {"expectations", Json::array()}};
  for (Json& result : report["results"])
    result["tunables"] = parse_json(result["tunables"].get<std::string>());
  for (const Expectation& expectation : manifest.expectations)
    report["expectations"].push_back(judge(expectation, manifest, folder, on_gpu));
  return report;
}

Json environment_json(const ResultFolder& folder, const std::string& command) {
  Json devices = Json::array();
  for (const Json& row : rows(folder, "SELECT facts, peak_bandwidth_gbps FROM devices ORDER BY id")) {
    devices.push_back(parse_json(row["facts"].get<std::string>()));
    devices.back()["peak_bandwidth_gbps"] = row["peak_bandwidth_gbps"];
  }
  const Json nvrtc = rows(folder, "SELECT DISTINCT nvrtc_version FROM builds ORDER BY 1");
  return {
      {"command", command},
      {"version", AK_VERSION},
      {"commit", AK_COMMIT},
      {"hosts", rows(folder, "SELECT host, operating_system, driver_version FROM environments")},
      {"kernel_driver", kernel_driver()},
      {"nvrtc_version", nvrtc.empty() ? Json() : nvrtc.front()["nvrtc_version"]},
      {"devices", devices},
      {"while_timing",
       first_row(folder,
                 "SELECT min(sm_clock_mhz) AS least_sm_clock_mhz, max(sm_clock_mhz) AS most_sm_clock_mhz, "
                 "max(memory_clock_mhz) AS memory_clock_mhz, max(temperature_c) AS most_temperature_c, "
                 "group_concat(DISTINCT nullif(throttle_reasons, '')) AS throttle_reasons "
                 "FROM measurements")},
      {"times",
       first_row(folder, "SELECT min(started_at) AS started_at, max(ended_at) AS ended_at FROM searches")}};
}

void export_tables(const ResultFolder& folder) {
  const auto write = [&](const char* name, const char* order) {
    const std::string sql = fmt::format("SELECT * FROM {} ORDER BY {}", name, order);
    write_file_atomically(
        folder.path / (std::string(name) + ".csv"),
        db::render(db::query(folder.database(), sql, 0, kExperimentQueryTime), db::TableFormat::csv));
  };
  write("benchmark_results", "search, evaluation, workload");
  write("leaderboard", "definition, device, shapes_number, place, variant");
}

int count_expectations(const Json& report, std::string_view status) {
  return static_cast<int>(std::ranges::count_if(
      report["expectations"], [&](const Json& e) { return e["status"] == std::string(status); }));
}

}  // namespace ak::app

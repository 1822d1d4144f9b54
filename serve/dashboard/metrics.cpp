// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/metrics.h"

#include <fmt/format.h>

#include "core/error.h"
#include "db/read/reader.h"

namespace ak::dashboard {
namespace {

/// A metric, named as Prometheus asks for: base units, "_total" for what only grows.
struct Metric {
  std::string_view name, type, help;
  std::string_view sql;  ///< labels, then the value
};

// Each place of the pools of running searches; of the calibrations of a place the latest.
constexpr std::string_view kPlaces =
    "WITH places AS (SELECT p.*, v.name AS device, v.kind FROM pool_places p JOIN searches s ON s.id = "
    "p.search_id "
    "AND s.status = 'running' LEFT JOIN devices v ON v.id = p.device_id), "
    "calibrated AS (SELECT p.search_id, p.number, p.device, c.*, "
    "row_number() OVER (PARTITION BY p.search_id, p.number ORDER BY c.id DESC) AS age "
    "FROM places p JOIN calibrations c ON c.search_id = p.search_id AND c.place = p.place) ";
constexpr std::string_view kOfPlace = "SELECT search_id AS search, number AS place, device, ";

constexpr Metric kMetrics[] = {
    {"alphakernel_searches_running", "gauge", "Searches that run.",
     "SELECT count(*) FROM searches WHERE status = 'running'"},
    {"alphakernel_search_evaluations_total", "counter", "Evaluations of a running search.",
     "SELECT s.id AS search, d.name AS definition, coalesce(f.evaluations, 0) FROM searches s "
     "JOIN definitions d ON d.id = s.definition_id LEFT JOIN search_figures f ON f.search_id = s.id "
     "WHERE s.status = 'running'"},
    {"alphakernel_pool_place_up", "gauge", "1 where a device of the pool has joined.",
     "@SELECT search_id AS search, number AS place, device, device_id IS NOT NULL AND reason IS NULL FROM "
     "places"},
    {"alphakernel_pool_place_evaluations_total", "counter",
     "Evaluations that a device of the pool has answered.", "@answers FROM places"},
    {"alphakernel_pool_place_present_seconds_total", "counter", "Time that a device of the pool was there.",
     "@present_s FROM places"},
    {"alphakernel_pool_place_breaker_state", "gauge", "1 for the state that the breaker of a device is in.",
     "@SELECT search_id AS search, number AS place, device, j.value AS state, breaker = j.value "
     "FROM places, json_each('[\"closed\", \"open\", \"half-open\"]') j"},
    {"alphakernel_pool_place_sm_clock_hertz", "gauge", "Clock of the SMs at the last calibration.",
     "@sm_clock_mhz * 1e6 FROM places"},
    {"alphakernel_pool_place_calibrations_total", "counter", "Calibrations of a device of the pool.",
     "@max(age) FROM calibrated GROUP BY 1, 2"},
    {"alphakernel_pool_place_calibrations_refused_total", "counter", "Calibrations that opened the breaker.",
     "@count(objection) FROM calibrated GROUP BY 1, 2"},
    {"alphakernel_pool_place_calibration_drift_ratio", "gauge",
     "How far the last calibration is from the device's first.", "@drift FROM calibrated WHERE age = 1"},
    {"alphakernel_pool_place_calibration_compute_seconds", "gauge",
     "Time of the last calibration's multiplications; on the CPU device a cost.",
     "@compute_ns / 1e9 FROM calibrated WHERE age = 1"},
    {"alphakernel_pool_place_calibration_copy_seconds", "gauge",
     "Time of the last calibration's copy; on the CPU device a cost.",
     "@copy_ns / 1e9 FROM calibrated WHERE age = 1"}};

// More places than all pools of one machine have; a page that is asked for every few seconds stays small (chosen).
constexpr std::size_t kMostSamples = 2'000;

/// "@": of the places of pools, whose labels come first unless it selects its own.
std::string sql_of(const Metric& metric) {
  if (!metric.sql.starts_with('@')) return std::string(metric.sql);
  const std::string_view rest = metric.sql.substr(1);
  return fmt::format("{}{}{}", kPlaces, rest.starts_with("SELECT") ? "" : kOfPlace, rest);
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || c == '"') safe += '\\';
    if (c == '\n')
      safe += "\\n";
    else
      safe += c;
  }
  return safe;
}

std::string text_of_cell(const db::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "";
}

}  // namespace

std::string metric_samples(std::string_view name, const db::Table& table) {
  std::string text;
  for (const auto& row : table.rows) {
    const std::string value = text_of_cell(row.back());
    if (value.empty()) continue;
    std::string labels;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      labels +=
          fmt::format("{}{}=\"{}\"", i == 0 ? "" : ",", table.columns[i], escaped(text_of_cell(row[i])));
    text += fmt::format("{}{} {}\n", name, labels.empty() ? "" : "{" + labels + "}", value);
  }
  return text;
}

PageResponse metrics(const std::filesystem::path& database, std::chrono::milliseconds time_limit) {
  try {
    db::Reader reader(database, time_limit);
    std::string text;
    for (const Metric& metric : kMetrics)
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", metric.name, metric.help, metric.type,
                          metric_samples(metric.name, reader.query(sql_of(metric), kMostSamples)));
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(text)};
  } catch (const Error&) {  // whose text names the database's path
    return {.status = 503, .type = "text/plain; charset=utf-8", .body = "the database cannot be read\n"};
  }
}

}  // namespace ak::dashboard

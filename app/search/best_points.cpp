// SPDX-License-Identifier: Apache-2.0
#include "app/search/best_points.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "db/database.h"

namespace ak::app {
namespace {

constexpr std::string_view kFormat = "alphakernel best points";
constexpr Format kVersions{.name = "a file of best points", .key = "version"};
constexpr auto kQueryTime = std::chrono::seconds(60);

// A time of a search that was not measured again may be low by luck: to be preferred it has to be 2 % lower
// (the noise between searches, chosen). The bare columns are those of the row with the least time.
constexpr const char* kQuery = R"sql(
SELECT d.problem, d.params, d.name, t.content_hash, v.name, l.plan, v.tunables, w.name, w.axes, dev.name, dev.kind, s.arch,
       m.median_ns, length(m.samples) / 4, p.arm, e.ended_at, s.id, v.id, n.alphakernel_version, n.driver_version, n.host,
       min(m.median_ns * iif(p.arm = 'final', 0.98, 1))
FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN proposals p ON p.id = e.proposal_id
JOIN searches s ON s.id = e.search_id AND s.device_id = e.device_id JOIN devices dev ON dev.id = e.device_id
JOIN environments n ON n.id = s.environment_id JOIN workloads w ON w.id = m.workload_id
JOIN variants v ON v.id = e.variant_id JOIN plans l ON l.id = v.plan_id JOIN sources t ON t.id = v.source_id JOIN definitions d ON d.id = v.definition_id
WHERE e.status = 'ok' AND m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
  AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id) {}
GROUP BY d.id, t.id, w.axes, dev.kind, dev.name, s.arch ORDER BY d.name, dev.name, w.id, m.median_ns)sql";

class Row {
 public:
  explicit Row(const std::vector<db::Cell>& cells) : cells_(cells) {}
  std::string text() { return std::get<std::string>(cells_.at(next_++)); }
  std::int64_t integer() { return std::get<std::int64_t>(cells_.at(next_++)); }
  double real() { return std::get<double>(cells_.at(next_++)); }
  Json json() { return parse_json(text()); }

 private:
  const std::vector<db::Cell>& cells_;
  std::size_t next_ = 0;
};

void add_row(BestPoints& best, Row row) {
  BestPoint point;
  point.problem = row.text();
  point.params = row.json();
  point.definition = row.text();
  point.source = row.text();
  std::string name = row.text();
  const Result<LaunchPlan> plan = launch_plan_from_json(row.json());
  point.tunables = row.json().get<TunableValues>();
  point.workload = row.text();
  point.shape = row.json().get<AxisValues>();
  point.device = row.text();
  point.emulated = row.text() == "emulator";
  point.arch = parse_sm(row.text()).value_or(Arch{});
  point.time_ns = row.real();
  point.samples = row.integer();
  point.confirmed = row.text() == "final";
  point.date = row.text();
  for (const char* key : {"search", "variant"}) point.provenance[key] = row.integer();
  point.provenance["alphakernel"] = row.text();
  point.provenance["driver"] = row.integer();
  point.provenance["host"] = row.text();
  if (!plan) return;  // of an older version that knew other plans
  best.sources.try_emplace(point.source, BestSource{.name = std::move(name), .plan = *plan});
  best.points.push_back(std::move(point));
}

Json point_json(const BestPoint& point) {
  return {{"problem", point.problem},     {"params", point.params},     {"definition", point.definition},
          {"source", point.source},       {"tunables", point.tunables}, {"workload", point.workload},
          {"shape", point.shape},         {"device", point.device},     {"arch", point.arch.sm()},
          {"time_ns", point.time_ns},     {"samples", point.samples},   {"emulated", point.emulated},
          {"confirmed", point.confirmed}, {"date", point.date},         {"provenance", point.provenance}};
}

BestPoint point_of(const Json& json) {
  BestPoint point{.problem = json.at("problem"),
                  .params = json.at("params"),
                  .definition = json.at("definition"),
                  .source = json.at("source"),
                  .tunables = json.at("tunables").get<TunableValues>(),
                  .workload = json.at("workload"),
                  .shape = json.at("shape").get<AxisValues>(),
                  .device = json.at("device"),
                  .arch = parse_sm(json.at("arch").get<std::string>()).value_or(Arch{}),
                  .time_ns = json.at("time_ns"),
                  .samples = json.value("samples", std::int64_t{0}),
                  .emulated = json.value("emulated", false),
                  .confirmed = json.value("confirmed", false),
                  .date = json.value("date", ""),
                  .provenance = json.value("provenance", Json::object())};
  return point;
}

BestPoints points_of(const Json& json) {
  BestPoints best;
  for (const auto& [hash, source] : json.at("sources").items()) {
    Result<LaunchPlan> plan = launch_plan_from_json(source.at("plan"));
    if (!plan) fail(ExitCode::bad_input, "source {}: {}", hash, plan.error().message);
    best.sources[hash] = {.name = source.at("name"), .plan = std::move(plan).value()};
  }
  for (const Json& point : json.at("points")) {
    best.points.push_back(point_of(point));
    if (!best.sources.contains(best.points.back().source))
      fail(ExitCode::bad_input, "a point is of the source {}, which is not among 'sources'",
           best.points.back().source);
  }
  return best;
}

}  // namespace

BestPoints best_points_of(const std::filesystem::path& database, const std::string& problem) {
  BestPoints best;
  if (!std::filesystem::exists(database)) return best;
  const bool plain = problem.find('\'') == std::string::npos;  // the names of problems are
  const std::string filter = problem.empty() || !plain ? "" : fmt::format("AND d.problem = '{}'", problem);
  const db::Table table = db::query(database, fmt::format(kQuery, filter), 0, kQueryTime);
  for (const auto& row : table.rows) add_row(best, Row(row));
  return best;
}

Json to_json(const BestPoints& best) {
  Json json{{"format", kFormat},
            {"version", kVersions.current()},
            {"sources", Json::object()},
            {"points", Json::array()}};
  for (const auto& [hash, source] : best.sources)
    json["sources"][hash] = {{"name", source.name}, {"plan", to_json(source.plan)}};
  for (const BestPoint& point : best.points) json["points"].push_back(point_json(point));
  return json;
}

BestPoints read_best_points(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  try {
    Json json = parse_json(text);
    if (!says_format(json, kFormat))
      fail(ExitCode::bad_input, "expected an object with \"format\": \"{}\"", kFormat);
    return points_of(up_to_date(kVersions, std::move(json)));
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "{}: not a file of best points: {}", file.string(), error.what());
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", file.string(), error.what());
  }
}

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/device_limits.h"

#include <fmt/format.h>

#include <utility>

#include "core/device/floor.h"
#include "core/plan/dtype.h"
#include "core/text/json.h"
#include "db/read/table_rows.h"

namespace ak::pages {
namespace {

// What a database holds may be anything: where it is not what it should be, there is no limit to show.

double number_in(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}
std::string text_in(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The input type that the device multiplies fastest, and its operations per clock per SM.
std::pair<std::string, int> fastest_input(const Json& definition, const Arch& arch) {
  std::pair<std::string, int> fastest{"", 0};
  const auto inputs = definition.is_object() ? definition.find("inputs") : definition.end();
  if (inputs == definition.end()) return fastest;
  for (const Json& input : *inputs) {
    const auto dtype = parse_dtype(text_in(input, "dtype"));
    const int operations = dtype ? peak_operations_per_clock(arch, *dtype) : 0;
    if (operations > fastest.second) fastest = {text_in(input, "dtype"), operations};
  }
  return fastest;
}

Json limit_of(const Json& definition, const std::string& arch_name, const Json& facts,
              double bandwidth_gbps) {
  Json limit{{"label", ""}, {"peak_gbps", nullptr}, {"peak_tflops", nullptr}};
  if (bandwidth_gbps > 0) limit["peak_gbps"] = bandwidth_gbps;
  const Result<Arch> arch = parse_arch(arch_name);
  const double clock_mhz = number_in(facts, "clock_mhz"), sm_count = number_in(facts, "sm_count");
  if (!arch || clock_mhz <= 0) return limit;
  const auto [dtype, operations] = fastest_input(definition, *arch);
  if (operations == 0) return limit;
  limit["peak_tflops"] = operations * sm_count * clock_mhz * 1e6 / 1e12;
  limit["label"] = fmt::format("{} {}", text_in(facts, "name"), dtype);
  return limit;
}

}  // namespace

void keep_device_limits(db::Reader& reader) {
  const db::Table pairs = reader.query(
      "SELECT s.definition_id, s.device_id, s.arch, d.definition, v.facts, v.peak_bandwidth_gbps FROM "
      "(SELECT definition_id, device_id, max(arch) AS arch FROM searches GROUP BY 1, 2) s "
      "JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = s.device_id",
      0);
  Json list = Json::array();
  for (const db::TableRow& row : db::rows_of(pairs)) {
    Json limit = limit_of(try_parse_json(row.text("definition")), row.text("arch"),
                          try_parse_json(row.text("facts")), row.real("peak_bandwidth_gbps"));
    limit["definition"] = row.integer("definition_id");
    limit["device"] = row.integer("device_id");
    list.push_back(std::move(limit));
  }
  reader.keep("device_limits",
              "SELECT CAST(value ->> 'definition' AS INTEGER) AS definition, CAST(value ->> 'device' AS "
              "INTEGER) AS device_id, "
              "value ->> 'label' AS label, CAST(value ->> 'peak_gbps' AS REAL) AS peak_gbps, "
              "CAST(value ->> 'peak_tflops' AS REAL) AS peak_tflops FROM json_each(:list)",
              {{"list", list.dump(-1, ' ', false, Json::error_handler_t::replace)}});
}

}  // namespace ak::pages

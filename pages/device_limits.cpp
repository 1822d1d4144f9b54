// SPDX-License-Identifier: Apache-2.0
#include "pages/device_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/device/floor.h"
#include "core/plan/dtype.h"
#include "core/text/json.h"

namespace ak::pages {
namespace {

/// The input type that the device multiplies fastest, and its operations per clock per SM.
std::pair<std::string, int> fastest_input(const Json& definition, const Arch& arch) {
  std::pair<std::string, int> fastest{"", 0};
  for (const Json& input : definition.value("inputs", Json::object())) {
    const auto dtype = parse_dtype(input.value("dtype", ""));
    const int operations = dtype ? peak_operations_per_clock(arch, *dtype) : 0;
    if (operations > fastest.second) fastest = {input.value("dtype", ""), operations};
  }
  return fastest;
}

Json limit_of(const Json& definition, const std::string& arch_name, const Json& facts,
              const db::Cell& bandwidth) {
  Json limit{{"label", ""}, {"peak_gbps", nullptr}, {"peak_tflops", nullptr}};
  if (const auto* gbps = std::get_if<double>(&bandwidth); gbps && *gbps > 0) limit["peak_gbps"] = *gbps;
  const Result<Arch> arch = parse_arch(arch_name);
  const double clock_mhz = facts.value("clock_mhz", 0.0), sm_count = facts.value("sm_count", 0.0);
  if (!arch || clock_mhz <= 0) return limit;
  const auto [dtype, operations] = fastest_input(definition, *arch);
  if (operations == 0) return limit;
  limit["peak_tflops"] = operations * sm_count * clock_mhz * 1e6 / 1e12;
  limit["label"] = fmt::format("{} {}", facts.value("name", ""), dtype);
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
  for (const auto& row : pairs.rows) {
    Json limit = limit_of(parse_json(std::get<std::string>(row[3])), std::get<std::string>(row[2]),
                          parse_json(std::get<std::string>(row[4])), row[5]);
    limit["definition"] = std::get<std::int64_t>(row[0]);
    limit["device"] = std::get<std::int64_t>(row[1]);
    list.push_back(std::move(limit));
  }
  reader.keep("device_limits",
              "SELECT CAST(value ->> 'definition' AS INTEGER) AS definition, CAST(value ->> 'device' AS "
              "INTEGER) AS device_id, "
              "value ->> 'label' AS label, CAST(value ->> 'peak_gbps' AS REAL) AS peak_gbps, "
              "CAST(value ->> 'peak_tflops' AS REAL) AS peak_tflops FROM json_each(:list)",
              {{"list", list.dump()}});
}

}  // namespace ak::pages

// SPDX-License-Identifier: Apache-2.0
// What the performance database remembers.
#include <fmt/format.h>

#include "app/knowledge/knowledge_page.h"
#include "app/operations/operation.h"
#include "core/device/arch.h"
#include "core/error.h"
#include "core/text/json_line.h"
#include "core/text/suggest.h"
#include "db/database.h"
#include "db/read/query_process.h"
#include "db/sql_text.h"

namespace ak::operations {
namespace {

/// How much of a table is answered. A cell may be a whole kernel or a compiler's log.
struct TableLimits {
  std::size_t bytes = 30'000, cell_bytes = 8'000;  // some 8,000 tokens: what a model reads with profit
};
// Of the table that this is cut from: twice the longest value that a query may read.
constexpr std::size_t kMaxAnswerMemory = std::size_t{64} << 20;

std::string shortened(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return sanitize(text, limit);
  return fmt::format("{} [{} bytes more; substr() shows a part]", sanitize(text, limit), text.size() - limit);
}

Json cell_json(const db::Cell& cell, const TableLimits& limits) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return shortened(*text, limits.cell_bytes);
  if (const auto* blob = std::get_if<std::vector<unsigned char>>(&cell))
    return fmt::format("[{} bytes]", blob->size());
  return nullptr;
}

/// As many rows as fit.
Json table_json(const db::Table& table, const TableLimits& limits = {}) {
  Json rows = Json::array();
  std::size_t bytes = 0;
  for (const auto& cells : table.rows) {
    Json row = Json::array();
    for (const db::Cell& cell : cells) row.push_back(cell_json(cell, limits));
    bytes += one_line(row).size();
    if (bytes > limits.bytes && !rows.empty()) break;
    rows.push_back(std::move(row));
  }
  const bool cut = rows.size() < table.rows.size();
  Json json{{"columns", table.columns}, {"rows", std::move(rows)}, {"complete", !cut && !table.truncated}};
  if (cut)
    json["note"] =
        fmt::format("cut at {} bytes: select fewer columns, or page with LIMIT and OFFSET", limits.bytes);
  if (!cut && table.truncated)
    json["note"] = "there are more rows: raise limit, or page with LIMIT and OFFSET";
  return json;
}

}  // namespace

Answer query_database(const Json& request, const Context& context, const Callbacks&) {
  return {.content = table_json(db::query_apart(context.database, request.at("sql").get<std::string>(),
                                                {.rows = request.at("limit").get<std::size_t>(),
                                                 .time = kQueryTimeLimit,
                                                 .answer_bytes = kMaxAnswerMemory}),
                                {.bytes = request.at("max_bytes").get<std::size_t>(),
                                 .cell_bytes = request.at("cell_bytes").get<std::size_t>()})};
}

Answer best_variants(const Json& request, const Context& context, const Callbacks&) {
  std::string where = "1";
  if (request.contains("problem"))
    where += fmt::format(" AND definition IN (SELECT name FROM definitions WHERE problem = {})",
                         db::sql_text(request["problem"]));
  for (const char* column : {"arch", "device_kind"}) {
    if (request.contains(column)) where += fmt::format(" AND {} = {}", column, db::sql_text(request[column]));
  }
  const std::string sql = fmt::format(
      "WITH each_once AS (SELECT *, min(place) AS first FROM leaderboard WHERE {} GROUP BY definition, "
      "device, device_kind, arch, shapes_number, variant), "
      "ranked AS (SELECT *, rank() OVER (PARTITION BY definition, device, device_kind, arch, shapes_number "
      "ORDER BY first) AS number FROM each_once) "
      "SELECT number AS place, definition, device, device_kind, arch, variant, template, tunables, score_us, "
      "emulated_cost_us, shapes FROM ranked WHERE number <= {} "
      "ORDER BY definition, device, arch, shapes_number, number",
      where, request.at("limit").get<int>());
  return {.content = table_json(db::query(context.database, sql, 0, kQueryTimeLimit))};
}

Answer list_insights(const Json& request, const Context& context, const Callbacks&) {
  db::InsightFilter filter;
  filter.algorithm = request.value("algorithm", "");
  filter.bottleneck = request.value("bottleneck", "");
  filter.words = request.value("words", "");
  filter.limit = request.at("limit").get<std::size_t>();
  if (request.contains("arch")) {
    const Result<Arch> arch = parse_arch(request["arch"].get<std::string>());
    if (!arch) fail(ExitCode::usage, "arch: {}", arch.error().message);
    filter.arch = arch->sm();
  }
  return {.content = {{"insights", app::to_json(db::find_insights(context.database, filter))}}};
}

}  // namespace ak::operations

// SPDX-License-Identifier: Apache-2.0
#include "db/store/insights.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "core/text/hash.h"
#include "db/schema.h"
#include "db/sqlite.h"

namespace ak::db {
namespace {

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

void put(Connection& connection, const Insight& insight, const std::string& time) {
  const auto uid = random_uid();
  connection
      .prepare(
          "INSERT INTO insights (uid, kind, text, evidence, created_at, algorithm, arch, device, "
          "device_kind, "
          "subject, bottleneck, ratio, tries, wins) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
          "ON CONFLICT (algorithm, arch, device, device_kind, kind, subject) DO UPDATE SET "
          "text = excluded.text, evidence = excluded.evidence, created_at = excluded.created_at, "
          "bottleneck = excluded.bottleneck, ratio = excluded.ratio, tries = excluded.tries, wins = "
          "excluded.wins")
      .bind(1, Blob(uid))
      .bind(2, insight.kind)
      .bind(3, insight.text)
      .bind(4, insight.evidence.dump(-1, ' ', false, Json::error_handler_t::replace))
      .bind(5, time)
      .bind(6, insight.scope.algorithm)
      .bind(7, insight.scope.arch)
      .bind(8, insight.scope.device)
      .bind(9, insight.scope.device_kind)
      .bind(10, insight.subject)
      .bind(11, insight.bottleneck)
      .bind(12, insight.ratio)
      .bind(13, insight.tries)
      .bind(14, insight.wins)
      .run();
}

/// "double buffering" -> "\"double\" OR \"buffering\"": words alone, so that no text is a mistake.
std::string fts_query(std::string_view words) {
  std::string query;
  for (std::size_t at = 0; at < words.size();) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const auto begin = static_cast<std::size_t>(
        std::find_if(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), is_word) - words.begin());
    const auto end = static_cast<std::size_t>(
        std::find_if_not(words.begin() + static_cast<std::ptrdiff_t>(begin), words.end(), is_word) -
        words.begin());
    if (begin < end)
      query += fmt::format("{}\"{}\"", query.empty() ? "" : " OR ", words.substr(begin, end - begin));
    at = end;
  }
  return query.empty() ? "\"\"" : query;
}

std::string select_of(const InsightFilter& filter) {
  std::string sql =
      "SELECT i.id, i.algorithm, i.arch, i.device, i.device_kind, i.kind, i.subject, i.text, i.bottleneck, "
      "i.ratio, i.tries, i.wins, i.evidence FROM insights i ";
  if (!filter.words.empty()) sql += "JOIN insights_text f ON f.rowid = i.id AND f.insights_text MATCH ?6 ";
  sql +=
      "WHERE i.algorithm IS NOT NULL AND ?1 IN ('', i.algorithm) AND ?2 IN ('', i.arch) AND "
      "?3 IN ('', i.device_kind) AND ?4 IN ('', i.bottleneck) AND (?5 = '[]' OR i.kind IN (SELECT value FROM "
      "json_each(?5))) ";
  sql += filter.words.empty() ? "ORDER BY i.tries DESC, i.id" : "ORDER BY f.rank, i.id";
  return sql + fmt::format(" LIMIT {}", filter.limit == 0 ? -1 : static_cast<std::int64_t>(filter.limit));
}

Insight insight_of(const Statement& row) {
  return {.id = row.integer(0),
          .scope = {row.text(1), row.text(2), row.text(3), row.text(4)},
          .kind = row.text(5),
          .subject = row.text(6),
          .text = row.text(7),
          .bottleneck = row.text(8),
          .ratio = row.real(9),
          .tries = static_cast<int>(row.integer(10)),
          .wins = static_cast<int>(row.integer(11)),
          .evidence = try_parse_json(row.text(12))};
}

}  // namespace

void replace_insights(const std::filesystem::path& file, const InsightScope& scope,
                      std::span<const std::string> kinds, std::span<const Insight> insights) {
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  Transaction transaction(connection);
  Json keep = Json::array();
  for (const Insight& insight : insights) keep.push_back({insight.kind, insight.subject});
  connection
      .prepare(
          "DELETE FROM insights WHERE algorithm = ? AND arch = ? AND device = ? AND device_kind = ? AND kind "
          "IN "
          "(SELECT value FROM json_each(?)) AND (kind, subject) NOT IN (SELECT json_extract(value, '$[0]'), "
          "json_extract(value, '$[1]') FROM json_each(?))")
      .bind(1, scope.algorithm)
      .bind(2, scope.arch)
      .bind(3, scope.device)
      .bind(4, scope.device_kind)
      .bind(5, Json(std::vector<std::string>(kinds.begin(), kinds.end())).dump())
      .bind(6, keep.dump(-1, ' ', false, Json::error_handler_t::replace))
      .run();
  const std::string time = now();
  for (const Insight& insight : insights) put(connection, insight, time);
  transaction.commit();
}

std::vector<Insight> find_insights(const std::filesystem::path& file, const InsightFilter& filter) {
  std::vector<Insight> found;
  if (!std::filesystem::exists(file)) return found;
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(select_of(filter));
  row.bind(1, filter.algorithm)
      .bind(2, filter.arch)
      .bind(3, filter.device_kind)
      .bind(4, filter.bottleneck)
      .bind(5, Json(filter.kinds).dump());
  if (!filter.words.empty()) row.bind(6, fts_query(filter.words));
  while (row.step()) found.push_back(insight_of(row));
  return found;
}

}  // namespace ak::db

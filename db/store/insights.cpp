// SPDX-License-Identifier: Apache-2.0
#include "db/store/insights.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/store/stored_values.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

void put_insight(Connection& connection, const Insight& insight, const std::string& time) {
  insert(connection, "insights",
         {{"uid", random_uid()},
          {"kind", insight.kind},
          {"text", insight.text},
          {"evidence", stored_json(insight.evidence)},
          {"created_at", time},
          {"algorithm", insight.scope.algorithm},
          {"arch", insight.scope.arch},
          {"device", insight.scope.device},
          {"device_kind", insight.scope.device_kind},
          {"subject", insight.subject},
          {"bottleneck", insight.bottleneck},
          {"ratio", insight.ratio},
          {"tries", insight.tries},
          {"wins", insight.wins}},
         "ON CONFLICT (algorithm, arch, device, device_kind, kind, subject) DO UPDATE SET "
         "text = excluded.text, evidence = excluded.evidence, created_at = excluded.created_at, bottleneck = "
         "excluded.bottleneck, ratio = excluded.ratio, tries = excluded.tries, wins = excluded.wins");
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

// Both have the same parameters: :words is empty where none are looked for.
constexpr std::string_view kByTries = "FROM insights i WHERE :words = ''", kTriesOrder = "i.tries DESC, i.id";
constexpr std::string_view kByWords =
    "FROM insights i JOIN insights_text f ON f.rowid = i.id WHERE f.insights_text MATCH :words";
constexpr std::string_view kWordsOrder = "f.rank, i.id";

std::string select_of(const InsightFilter& filter) {
  const bool any = filter.words.empty();
  return fmt::format(
      "SELECT i.id AS id, i.algorithm AS algorithm, i.arch AS arch, i.device AS device, i.device_kind AS "
      "device_kind, i.kind AS kind, i.subject AS subject, i.text AS text, i.bottleneck AS bottleneck, "
      "i.ratio AS ratio, i.tries AS tries, i.wins AS wins, i.evidence AS evidence {} AND i.algorithm IS NOT "
      "NULL AND :algorithm IN ('', i.algorithm) AND :arch IN ('', i.arch) AND :device_kind IN ('', "
      "i.device_kind) AND :bottleneck IN ('', i.bottleneck) AND (:kinds = '[]' OR i.kind IN (SELECT value "
      "FROM json_each(:kinds))) ORDER BY {} LIMIT {}",
      any ? kByTries : kByWords, any ? kTriesOrder : kWordsOrder,
      filter.limit == 0 ? -1 : static_cast<std::int64_t>(filter.limit));
}

Insight insight_of(const Rows& row) {
  return {.id = row.integer("id"),
          .scope = {.algorithm = row.text("algorithm"),
                    .arch = row.text("arch"),
                    .device = row.text("device"),
                    .device_kind = row.text("device_kind")},
          .kind = row.text("kind"),
          .subject = row.text("subject"),
          .text = row.text("text"),
          .bottleneck = row.text("bottleneck"),
          .ratio = row.real("ratio"),
          .tries = row.integer<int>("tries"),
          .wins = row.integer<int>("wins"),
          .evidence = try_parse_json(row.text("evidence"))};
}

}  // namespace

void replace_insights(const std::filesystem::path& file, const InsightScope& scope,
                      std::span<const std::string> kinds, std::span<const Insight> insights) {
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  Transaction transaction(connection);
  Json keep = Json::array();
  for (const Insight& insight : insights) keep.push_back({insight.kind, insight.subject});
  run(connection,
      "DELETE FROM insights WHERE algorithm = :algorithm AND arch = :arch AND device = :device AND "
      "device_kind = :device_kind AND kind IN (SELECT value FROM json_each(:kinds)) AND (kind, subject) NOT "
      "IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keep))",
      {{"algorithm", scope.algorithm},
       {"arch", scope.arch},
       {"device", scope.device},
       {"device_kind", scope.device_kind},
       {"kinds", Json(std::vector<std::string>(kinds.begin(), kinds.end())).dump()},
       {"keep", stored_json(keep)}});
  const std::string time = now();
  for (const Insight& insight : insights) put_insight(connection, insight, time);
  transaction.commit();
}

std::vector<Insight> find_insights(const std::filesystem::path& file, const InsightFilter& filter) {
  std::vector<Insight> found;
  if (!std::filesystem::exists(file)) return found;
  Connection connection = open_to_read(file);
  Rows row = select(connection, select_of(filter),
                    {{"algorithm", filter.algorithm},
                     {"arch", filter.arch},
                     {"device_kind", filter.device_kind},
                     {"bottleneck", filter.bottleneck},
                     {"kinds", Json(filter.kinds).dump()},
                     {"words", filter.words.empty() ? "" : fts_query(filter.words)}});
  while (row.next()) found.push_back(insight_of(row));
  return found;
}

}  // namespace ak::db

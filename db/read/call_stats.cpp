// SPDX-License-Identifier: Apache-2.0
#include "db/read/call_stats.h"

#include <array>

#include "db/rows.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

// Each with the name of a column of llm_calls, which is one of two written here.
constexpr std::array<const char*, 2> kCallValues{
    "SELECT DISTINCT model FROM llm_calls ORDER BY model",
    "SELECT DISTINCT prompt_version FROM llm_calls ORDER BY prompt_version"};

constexpr std::array<const char*, 2> kAsked{
    R"sql(SELECT search_id, NOT EXISTS (SELECT 1 FROM llm_calls o WHERE o.search_id = c.search_id
                 AND o.model <> :value) AS alone
          FROM llm_calls c WHERE model = :value GROUP BY search_id ORDER BY search_id)sql",
    R"sql(SELECT search_id, NOT EXISTS (SELECT 1 FROM llm_calls o WHERE o.search_id = c.search_id
                 AND o.prompt_version <> :value) AS alone
          FROM llm_calls c WHERE prompt_version = :value GROUP BY search_id ORDER BY search_id)sql"};

constexpr const char* kCalls = R"sql(
WITH mine AS (SELECT * FROM llm_calls WHERE iif(:by_prompt, prompt_version, model) = :value),
made AS (
  SELECT DISTINCT e.search_id, e.variant_id, e.status = 'ok' AS passed
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.llm_call_id IN (SELECT id FROM mine)
    AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile', 'ablation')),
made_once AS (SELECT search_id, variant_id, max(passed) AS passed FROM made GROUP BY search_id, variant_id)
SELECT count(DISTINCT search_id) AS searches, count(*) AS calls, (SELECT count(*) FROM made_once) AS candidates,
       (SELECT coalesce(sum(passed), 0) FROM made_once) AS verified, count(reward) AS exchanges,
       coalesce(sum(reward >= 0.5), 0) AS took_the_lead, coalesce(sum(input_tokens), 0) AS input_tokens,
       coalesce(sum(output_tokens), 0) AS output_tokens,
       iif(max(cost_usd IS NULL AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) > 0), NULL, sum(cost_usd))
         AS cost_usd
FROM mine)sql";

// As the query `spend` has it: from the start that the user gave, or the template's, to the best.
constexpr const char* kGain = R"sql(
SELECT min(e.score_ns) AS start_ns, (SELECT h.score_ns FROM champions h WHERE h.search = :search) AS best_ns,
       (SELECT iif(sum(x.unpriced_calls) > 0, NULL, sum(x.cost_usd)) FROM spend x WHERE x.search = :search) AS cost_usd
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE e.search_id = :search AND e.status = 'ok' AND p.llm_call_id IS NULL AND p.arm = 'start')sql";

CallStats calls_of(Connection& connection, CallColumn column, const std::string& value) {
  Rows row =
      select(connection, kCalls, {{"value", value}, {"by_prompt", column == CallColumn::prompt_version}});
  if (!row.next()) return {};
  return {.searches = row.integer("searches"),
          .calls = row.integer("calls"),
          .candidates = row.integer("candidates"),
          .verified = row.integer("verified"),
          .exchanges = row.integer("exchanges"),
          .took_the_lead = row.integer("took_the_lead"),
          .input_tokens = row.integer("input_tokens"),
          .output_tokens = row.integer("output_tokens"),
          .cost_usd = row.real("cost_usd")};
}

/// What the search gained on its start, and what it cost.
void add_gain(Connection& connection, RowId search, CallStats& stats) {
  Rows row = select(connection, kGain, {{"search", search}});
  if (!row.next()) return;
  const auto start_ns = row.real("start_ns"), best_ns = row.real("best_ns");
  if (!start_ns || !best_ns || *best_ns <= 0) return;
  stats.percent_gained += 100 * (*start_ns / *best_ns - 1);
  const auto cost_usd = row.real("cost_usd");
  if (stats.cost_of_gains_usd && cost_usd)
    *stats.cost_of_gains_usd += *cost_usd;
  else
    stats.cost_of_gains_usd.reset();
}

std::vector<AskedSearch> asked_in(Connection& connection, CallColumn column, const std::string& value) {
  std::vector<AskedSearch> searches;
  Rows row = select(connection, kAsked.at(static_cast<std::size_t>(column)), {{"value", value}});
  while (row.next()) searches.push_back({.search = row.integer("search_id"), .alone = row.flag("alone")});
  return searches;
}

}  // namespace

std::vector<std::string> call_values(const std::filesystem::path& file, CallColumn column) {
  Connection connection = open_to_read(file);
  return select_texts(connection, kCallValues.at(static_cast<std::size_t>(column)));
}

std::vector<AskedSearch> asked_searches(const std::filesystem::path& file, CallColumn column,
                                        const std::string& value) {
  Connection connection = open_to_read(file);
  return asked_in(connection, column, value);
}

CallStats call_stats(const std::filesystem::path& file, CallColumn column, const std::string& value) {
  Connection connection = open_to_read(file);
  CallStats stats = calls_of(connection, column, value);
  for (const AskedSearch& asked : asked_in(connection, column, value))
    if (asked.alone) add_gain(connection, asked.search, stats);
  return stats;
}

}  // namespace ak::db

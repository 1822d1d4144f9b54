// SPDX-License-Identifier: Apache-2.0
#include "app/knowledge/evidence.h"

#include <fmt/format.h>

#include "agent/llm/api/redact.h"
#include "db/database.h"
#include "db/sql_text.h"

namespace ak::app {
namespace {

constexpr auto kQueryTime = std::chrono::seconds(120);
constexpr std::size_t kClaimBytes = 400;
constexpr int kMaxVariants = 20'000;  // the latest of a scope: learning ends within a second or two

// Arms whose evaluations are not of a search, or whose time is not comparable with its times.
constexpr std::string_view kSearchOnly =
    "p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile', 'ablation')";

std::string in_scope(const db::InsightScope& scope) {
  return fmt::format("d.problem = {} AND s.arch = {} AND dev.name = {} AND dev.kind = {}",
                     db::sql_text(scope.algorithm), db::sql_text(scope.arch), db::sql_text(scope.device),
                     db::sql_text(scope.device_kind));
}

/// Reads cells in their order.
class Row {
 public:
  explicit Row(const std::vector<db::Cell>& cells) : cells_(cells) {}
  std::string text() {
    const auto* text = std::get_if<std::string>(&cells_.at(next_++));
    return text ? *text : "";
  }
  RowId id() {
    const auto* id = std::get_if<std::int64_t>(&cells_.at(next_++));
    return id ? *id : 0;
  }
  std::optional<double> real() {
    const auto* value = std::get_if<double>(&cells_.at(next_++));
    return value ? std::optional(*value) : std::nullopt;
  }

 private:
  const std::vector<db::Cell>& cells_;
  std::size_t next_ = 0;
};

/// What an answer says before its first block or edit: the system prompt asks there for what is
/// changed and why.
std::string claim_of(std::string_view answer) {
  const std::size_t thought = answer.rfind("</think>");
  if (thought != std::string_view::npos) answer.remove_prefix(thought + 8);
  answer = answer.substr(0, std::min(answer.find("```"), answer.find("<<<<<<<")));
  std::string claim = agent::clean_text(answer);
  for (char& c : claim) c = c == '\n' || c == '\t' ? ' ' : c;
  const std::size_t begin = std::min(claim.find_first_not_of(' '), claim.size());
  claim = claim.substr(begin, claim.find_last_not_of(' ') + 1 - begin);
  if (claim.size() > kClaimBytes) claim = agent::clean_text(claim.substr(0, kClaimBytes)) + "...";
  return claim;
}

}  // namespace

std::vector<db::InsightScope> scopes_of(const std::filesystem::path& database) {
  const db::Table table = db::query(
      database,
      "SELECT DISTINCT d.problem, s.arch, dev.name, dev.kind FROM searches s JOIN definitions d ON d.id = "
      "s.definition_id JOIN devices dev ON dev.id = s.device_id WHERE dev.kind <> 'none' ORDER BY 1, 2, 3, 4",
      0, kQueryTime);
  std::vector<db::InsightScope> scopes;
  for (const auto& cells : table.rows) {
    Row row(cells);
    scopes.push_back(
        {.algorithm = row.text(), .arch = row.text(), .device = row.text(), .device_kind = row.text()});
  }
  return scopes;
}

std::vector<TimedVariant> timed_variants(const std::filesystem::path& database,
                                         const db::InsightScope& scope) {
  const db::Table table = db::query(
      database,
      fmt::format(
          "SELECT v.id, d.name || ' ' || ifnull(s.workloads_hash, ''), t.content_hash, v.name, v.tunables, "
          "d.params, min(e.score_ns) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id "
          "JOIN searches s ON s.id = e.search_id AND s.device_id = e.device_id "
          "JOIN devices dev ON dev.id = s.device_id JOIN variants v ON v.id = e.variant_id "
          "JOIN sources t ON t.id = v.source_id JOIN definitions d ON d.id = v.definition_id "
          "WHERE {} AND {} AND e.status IN ('ok', 'duplicate') AND e.score_ns > 0 "
          "AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id) "
          "GROUP BY v.id, s.workloads_hash ORDER BY v.id DESC LIMIT {}",
          in_scope(scope), kSearchOnly, kMaxVariants),
      0, kQueryTime);
  std::vector<TimedVariant> variants;
  for (const auto& cells : table.rows) {
    Row row(cells);
    variants.push_back({.variant = row.id(),
                        .definition = row.text(),
                        .source = row.text(),
                        .name = row.text(),
                        .tunables = parse_json(row.text()).get<TunableValues>(),
                        .params = parse_json(row.text()),
                        .score_ns = row.real().value_or(0)});
  }
  return variants;
}

std::vector<ModelAttempt> model_attempts(const std::filesystem::path& database,
                                         const db::InsightScope& scope) {
  const std::string best_of_parent =
      "(SELECT min(f.score_ns) FROM evaluations f WHERE f.variant_id = q.parent_id AND f.status IN ('ok', "
      "'duplicate') AND f.device_id = e.device_id AND f.search_id = e.search_id)";
  const db::Table table = db::query(
      database,
      fmt::format(
          "SELECT v.id, v.name, p.arm, p.proposer, c.answer, t.text, e.status, e.message, c.bottleneck, "
          "e.score_ns, q.parent_id, u.text, {}, h.change, h.reason, h.expected_speedup, h.measured_speedup "
          "FROM evaluations e JOIN proposals p ON p.id = e.proposal_id "
          "JOIN llm_calls c ON c.id = p.llm_call_id JOIN searches s ON s.id = e.search_id "
          "JOIN devices dev ON dev.id = s.device_id JOIN variants v ON v.id = e.variant_id "
          "JOIN sources t ON t.id = v.source_id JOIN definitions d ON d.id = v.definition_id "
          "LEFT JOIN hypotheses h ON h.proposal_id = p.id "
          "LEFT JOIN variant_parents q ON q.variant_id = v.id "
          "LEFT JOIN variants w ON w.id = q.parent_id LEFT JOIN sources u ON u.id = w.source_id "
          "WHERE {} AND {} AND p.arm <> 'points' AND e.status NOT IN ('interrupted', "
          "'infrastructure_error') GROUP BY v.id, h.id ORDER BY e.id",
          best_of_parent, in_scope(scope), kSearchOnly),
      0, kQueryTime);
  std::vector<ModelAttempt> attempts;
  for (const auto& cells : table.rows) {
    Row row(cells);
    ModelAttempt attempt;
    attempt.variant = row.id();
    attempt.name = row.text();
    attempt.arm = row.text();
    attempt.model = row.text();
    attempt.claim = claim_of(row.text());
    attempt.source = row.text();
    attempt.status = row.text();
    attempt.message = row.text();
    attempt.bottleneck = row.text();
    attempt.score_ns = row.real();
    attempt.parent = row.id();
    attempt.parent_source = row.text();
    attempt.parent_score_ns = row.real();
    Hypothesis hypothesis{.change = row.text(), .reason = row.text()};
    if (const auto expected = row.real()) {
      hypothesis.speedup = *expected;
      attempt.hypothesis = std::move(hypothesis);
    }
    attempt.measured_speedup = row.real();
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#include "db/store/journal_rows.h"

#include <algorithm>

#include "core/token_counts.h"
#include "db/rows.h"

namespace ak::db {
namespace {

constexpr const char* kEntries =
    "SELECT e.variant_id AS variant, e.id AS evaluation, p.iteration AS iteration, e.status AS status, "
    "j.request_key AS request_key, j.result AS result FROM journal j JOIN evaluations e ON e.id = "
    "j.evaluation_id JOIN proposals p ON p.id = e.proposal_id WHERE e.search_id = :search ORDER BY e.id";
constexpr const char* kCalls =
    "SELECT id, request, status, answer, message, stop, input_tokens, cached_tokens, output_tokens, "
    "tokens_reported, cost_usd, attempts, provider_request, model, "
    // Its own candidates were committed after it, if in the same millisecond.
    "(SELECT count(*) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id WHERE e.search_id = "
    "c.search_id "
    "AND e.ended_at <= c.ended_at AND (p.llm_call_id IS NULL OR p.llm_call_id < c.id)) AS after "
    "FROM llm_calls c WHERE search_id = :search AND (status <> 'cancelled' OR model LIKE 'agent:%') ORDER BY "
    "id";

// What began before the answer came was tried for it.
constexpr const char* kTrials =
    "SELECT c.id AS call, s.text AS source, v.tunables AS tunables FROM llm_calls c JOIN proposals p ON "
    "p.llm_call_id = c.id JOIN evaluations e ON e.proposal_id = p.id JOIN journal j ON j.evaluation_id = "
    "e.id "
    "JOIN variants v ON v.id = p.variant_id JOIN sources s ON s.id = v.source_id WHERE c.search_id = :search "
    "AND c.model LIKE 'agent:%' AND j.result <> '' AND (c.ended_at IS NULL OR e.started_at < c.ended_at) "
    "ORDER BY e.id";

std::optional<LlmReply> reply_of(const Rows& row) {
  const std::string status = row.text("status");
  if (status == "sent" || parse_llm_fault(status) == LlmFault::cancelled) return std::nullopt;
  LlmReply reply{.text = row.text("answer"),
                 .stop = parse_llm_stop(row.text("stop")),
                 .usage = {.input_tokens = row.integer("input_tokens"),
                           .cached_tokens = row.integer("cached_tokens"),
                           .output_tokens = row.integer("output_tokens"),
                           .reported = row.flag("tokens_reported")},
                 .cost_usd = row.real("cost_usd"),
                 .request_id = row.text("provider_request"),
                 .attempts = row.integer<int>("attempts")};
  if (!are_possible(reply.usage)) reply.usage = {};
  if (const auto fault = parse_llm_fault(status)) reply.failure = LlmFailure{*fault, row.text("message")};
  return reply;
}

void add_trials(Connection& connection, RowId search, std::vector<JournalCall>& calls) {
  Rows row = select(connection, kTrials, {{"search", search}});
  while (row.next()) {
    const auto call = std::ranges::find(calls, row.integer("call"), &JournalCall::id);
    if (call == calls.end()) continue;
    JournalTrial trial{.source = row.text("source"), .tunables = {}};
    const Json tunables = parse_json(row.text("tunables"));  // items() keeps no temporary
    for (const auto& [name, value] : tunables.items())
      if (value.is_number_integer()) trial.tunables[name] = value.get<std::int64_t>();
    call->trials.push_back(std::move(trial));
  }
}

}  // namespace

std::vector<JournalEntry> journal_entries(Connection& connection, RowId search) {
  std::vector<JournalEntry> entries;
  Rows row = select(connection, kEntries, {{"search", search}});
  while (row.next()) {
    const std::string result = row.text("result");
    entries.push_back({.variant = row.integer("variant"),
                       .evaluation = row.integer("evaluation"),
                       .iteration = row.integer<int>("iteration"),
                       .status = row.text("status"),
                       .key = row.text("request_key"),
                       .result = result.empty() ? std::nullopt : std::optional(parse_json(result))});
  }
  return entries;
}

std::vector<JournalCall> journal_calls(Connection& connection, RowId search) {
  std::vector<JournalCall> calls;
  Rows row = select(connection, kCalls, {{"search", search}});
  while (row.next())
    calls.push_back({.id = row.integer("id"),
                     .model = row.text("model"),
                     .request = row.text("request"),
                     .reply = reply_of(row),
                     .after = row.integer("after"),
                     .trials = {},
                     .spent_usd = row.real("cost_usd")});
  add_trials(connection, search, calls);
  return calls;
}

void delete_journal(Connection& connection, RowId session_search) {
  run(connection,
      "DELETE FROM journal WHERE evaluation_id IN (SELECT e.id FROM evaluations e JOIN session_searches r "
      "ON r.search_id = e.search_id WHERE r.id = :run)",
      {{"run", session_search}});
}

}  // namespace ak::db

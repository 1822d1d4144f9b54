// SPDX-License-Identifier: Apache-2.0
#include "db/store/llm_call_rows.h"

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {

RowId put_llm_call(Connection& connection, const LlmCallRecord& record) {
  return insert(connection, "llm_calls",
                {{"uid", random_uid()},
                 {"search_id", record.search},
                 {"model", record.model},
                 {"arm", record.arm},
                 {"credited_arm", record.credited_arm},
                 {"prompt_version", record.prompt_version},
                 {"bottleneck", not_empty(record.bottleneck)},
                 {"request", stored_json(record.request)},
                 {"status", "sent"},
                 {"started_at", utc_now()}});
}

void end_llm_call(Connection& connection, RowId call, const LlmReply& reply, double latency_ms) {
  const auto& failure = reply.failure;
  update(connection, "llm_calls", call,
         {{"answer", reply.text},
          {"raw", reply.raw},
          {"status", failure ? info(failure->fault).name : std::string_view("ok")},
          {"message", failure ? failure->message : reply.note},
          {"stop", failure ? std::nullopt : std::optional(to_string(reply.stop))},
          {"input_tokens", reply.usage.input_tokens},
          {"cached_tokens", reply.usage.cached_tokens},
          {"output_tokens", reply.usage.output_tokens},
          {"tokens_reported", reply.usage.reported},
          {"cost_usd", reply.cost_usd},
          {"attempts", reply.attempts},
          {"provider_request", reply.request_id},
          {"latency_ms", latency_ms},
          {"ended_at", utc_now()}});
}

QuestionName name_of_llm_call(Connection& connection, RowId call) {
  Rows row = select(
      connection,
      "SELECT lower(hex(s.uid)) AS search, lower(hex(c.uid)) AS id FROM llm_calls c JOIN searches s ON "
      "s.id = c.search_id WHERE c.id = :call",
      {{"call", call}});
  AK_ASSERT(row.next(), "a request is begun before its name is asked for");
  return {.search = row.text("search"), .id = row.text("id")};
}

void reward_llm_call(Connection& connection, RowId call, double reward) {
  update(connection, "llm_calls", call, {{"reward", reward}});
}

void put_hypothesis(Connection& connection, const EvaluationRecord& record, RowId proposal) {
  const Hypothesis* hypothesis = record.hypothesis;
  if (hypothesis == nullptr) return;
  const EvaluationResult& result = *record.result;
  const bool passed = is_verified(result.outcome.status);
  insert(connection, "hypotheses",
         {{"uid", random_uid()},
          {"proposal_id", proposal},
          {"parent_id", record.parents.empty() ? std::nullopt : std::optional(record.parents.front())},
          {"change", hypothesis->change},
          {"reason", hypothesis->reason},
          {"expected_speedup", hypothesis->speedup},
          {"measured_speedup", hypothesis->measured(passed ? result.score_ns : std::nullopt)}});
}

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

// Rows of `llm_calls`. All throw SqliteError and belong into a transaction of the caller.

/// A request that is about to be sent.
RowId put_llm_call(Connection& connection, const LlmCallRecord& record);

/// Of a request that has a row.
[[nodiscard]] QuestionName name_of_llm_call(Connection& connection, RowId call);

void end_llm_call(Connection& connection, RowId call, const LlmReply& reply, double latency_ms);

/// @param reward in [0, 1], of the exchange that the call began
void reward_llm_call(Connection& connection, RowId call, double reward);

/// What the model that made a proposal expects of it, next to what was measured; nothing where nothing was said.
void put_hypothesis(Connection& connection, const EvaluationRecord& record, RowId proposal);

}  // namespace ak::db

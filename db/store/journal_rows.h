// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/launch_plan.h"
#include "core/store.h"
#include "core/text/json.h"
#include "db/sqlite.h"

namespace ak::db {

// What a search keeps so that another process can continue it, in the order in which it was committed.

/// An evaluation that a search has committed, as far as a process that continues with it must know.
struct JournalEntry {
  RowId variant = 0, evaluation = 0;
  int iteration = 0;
  std::string status, key;
  std::optional<Json> result;  ///< nothing where nothing was evaluated
};

/// A kernel that came of a request to a model, and was evaluated.
struct JournalTrial {
  std::string source;
  TunableValues tunables;
};

/// A request to a model that a search has committed.
struct JournalCall {
  RowId id = 0;
  std::string model, request;
  std::optional<LlmReply> reply;  ///< nothing where no answer came
  std::int64_t after = 0;         ///< evaluations of the search that were committed before the answer
  /// Of a coding agent, which has kernels evaluated before it answers: in the order in which they ended, without those
  /// of its answer.
  std::vector<JournalTrial> trials = {};
  /// What was spent without an answer, as far as it is known.
  std::optional<double> spent_usd = {};
};

/// Throw SqliteError.
[[nodiscard]] std::vector<JournalEntry> journal_entries(Connection& connection, RowId search);
/// But those that were cancelled: they are asked again. A coding agent's has what it had tried.
[[nodiscard]] std::vector<JournalCall> journal_calls(Connection& connection, RowId search);

/// Drops the entries of a session's search.
void delete_journal(Connection& connection, RowId session_search);

}  // namespace ak::db

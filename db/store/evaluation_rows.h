// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/store.h"
#include "db/sqlite.h"
#include "db/store/search_rows.h"

namespace ak::db {

/// An evaluation that is being stored, for the rows that belong to it. Refers to what it is made from, which
/// outlives it. All that takes it throws SqliteError and belongs into a transaction of the caller.
struct EvaluationRows {
  Connection& connection;
  const EvaluationRecord& record;
  const OpenSearch& search;
  RowId variant = 0, evaluation = 0;

  /// The row of a workload by name. Shapes sampled after the search began become rows, from the
  /// request's own problem.
  [[nodiscard]] RowId workload(const std::string& name) const;
};

/// The row of `evaluations`; its id is set in `rows`.
void put_evaluation(EvaluationRows& rows, RowId proposal, std::optional<RowId> build);

/// What a search that may continue in another process needs of it; nothing where it keeps no journal.
void put_journal(const EvaluationRows& rows);

/// Each workload's checks, once for all evaluations with the same.
void put_checks(const EvaluationRows& rows);
void put_measurements(const EvaluationRows& rows);
/// Exact counts, energy, and the counters and sampled lines of profiles.
void put_metrics(const EvaluationRows& rows);
/// The times that were predicted of it.
void put_predictions(const EvaluationRows& rows);

}  // namespace ak::db

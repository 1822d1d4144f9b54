// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

// Sources, variants, who proposed them, and what they were built into. All throw SqliteError and belong into a
// transaction of the caller.

/// The row of a candidate at its point; adds it, and its source, where there is none.
RowId put_variant(Connection& connection, RowId definition, const Candidate& candidate, const Json& params);

/// A proposal of the variant, and its parents.
RowId put_proposal(Connection& connection, const EvaluationRecord& record, RowId variant);

/// When the strategy heard of a committed evaluation.
void put_told(Connection& connection, RowId evaluation, const TellRecord& told);

/// The row of the record's build, with its kernels; nothing where nothing was built.
std::optional<RowId> put_build(Connection& connection, const EvaluationRecord& record, RowId variant);

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "db/sqlite.h"
#include "db/store/session.h"

namespace ak::db {

// Rows of `sessions` and `session_searches`. All throw SqliteError; what writes belongs into a transaction
// of the caller.

/// With its runs, all as queued.
RowId put_session(Connection& connection, const Session& session);

/// With its runs; nothing when there is none of this number.
[[nodiscard]] std::optional<Session> select_session(Connection& connection, RowId session);

/// Queues the run for it.
void put_round(Connection& connection, RowId run, const SessionRound& round);
/// What a run is given when it begins.
void begin_session_run(Connection& connection, const SessionSearch& run);
/// The figures of a run that continues.
void update_stats(Connection& connection, RowId run, const SessionSearchStats& stats);
void end_session_run(Connection& connection, const SessionSearch& run);
/// In the questions of their searches, and in what came of them; all at once, so that one may get the name of another.
void rename_models(Connection& connection, std::span<const RenamedModel> models);

}  // namespace ak::db

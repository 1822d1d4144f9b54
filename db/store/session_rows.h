// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

// Rows of `sessions`. All throw SqliteError and belong into a transaction of the caller.

/// What the rows of a running session refer to.
struct OpenSession {
  RowId definition = 0, device = 0, environment = 0;
  Arch arch;
  std::map<std::string, RowId> workloads;  ///< by name
};

/// Adds what a session refers to where it is not there.
[[nodiscard]] OpenSession put_session_parts(Connection& connection, const ProblemInstance& problem,
                                            const DeviceFacts& device, const Arch& arch,
                                            const std::string& version);

/// The row of a session that begins; where it belongs to a search of a campaign that has one, that one goes on.
/// Throws Error(bad_input) where it cannot.
RowId begin_session_row(Connection& connection, const SessionRecord& session, const OpenSession& open);

void end_session_row(Connection& connection, RowId session, std::string_view status, std::string_view reason,
                     std::optional<RowId> best_variant);

/// Ends the running sessions that are not alive, "interrupted", and says so.
void close_dead_sessions(Connection& connection, const std::function<bool(RowId)>& alive);

}  // namespace ak::db

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

// Rows of `searches`. All throw SqliteError and belong into a transaction of the caller.

/// What the rows of a running search refer to.
struct OpenSearch {
  RowId definition = 0, device = 0, environment = 0;
  Arch arch;
  std::map<std::string, RowId> workloads;  ///< by name
  std::optional<std::string> given_shapes =
      {};  ///< names of the shapes that the caller gave; nothing: the problem's own
};

/// Adds what a search refers to where it is missing.
[[nodiscard]] OpenSearch put_search_parts(Connection& connection, const ProblemInstance& problem,
                                          const DeviceFacts& device, const Arch& arch,
                                          const std::string& version);

/// The row of a search that begins; where it belongs to a search of a session that has one, that one continues.
/// Throws Error(bad_input) where it cannot.
RowId begin_search_row(Connection& connection, const SearchRecord& search, const OpenSearch& open);

/// In place of one after as many evaluations.
void put_verdict(Connection& connection, RowId search, const GainRecord& record);

void end_search_row(Connection& connection, RowId search, std::string_view status, std::string_view reason,
                    std::optional<RowId> best_variant);

/// Nobody goes on with a search that waits for answers: it ends as "stopped", and its questions as withdrawn. Nothing
/// where it does not wait.
void close_suspended_search(Connection& connection, RowId search, std::string_view reason);

/// Ends the running searches that are not alive, "interrupted", and says so.
void close_dead_searches(Connection& connection, const std::function<bool(RowId)>& alive);

}  // namespace ak::db

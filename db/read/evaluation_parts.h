// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

// What an evaluation left, read back in the order in which it was stored. All throw SqliteError.

[[nodiscard]] std::vector<Measurement> select_measurements(Connection& connection, RowId evaluation);
[[nodiscard]] std::vector<CheckRecord> select_checks(Connection& connection, RowId evaluation);

/// Shapes that were checked or measured.
[[nodiscard]] std::vector<Workload> select_workloads(Connection& connection, RowId evaluation);

/// Without its binaries; nothing where there is no such row.
[[nodiscard]] std::optional<BuildResult> select_build(Connection& connection, RowId build);

/// Fills in the exact counts that the CPU device gave with them.
void add_counts(Connection& connection, RowId evaluation, std::vector<Measurement>& measurements);

/// Of the last evaluation of the variant on this product that was profiled; empty where none was.
[[nodiscard]] std::vector<Profile> select_profiles(Connection& connection, RowId variant,
                                                   const std::string& device);

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

/// What other searches found at the points of a source, as VariantStore::known_points() says. Throws SqliteError.
[[nodiscard]] std::vector<KnownPoint> select_known_points(Connection& connection, RowId search,
                                                          const std::string& source_hash);

}  // namespace ak::db

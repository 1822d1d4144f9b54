// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

/// Adds the calibrations of a report, and has its places take those of the report before. Throws SqliteError; belongs
/// into a transaction of the caller.
void put_pool(Connection& connection, RowId search, const PoolReport& report);

}  // namespace ak::db

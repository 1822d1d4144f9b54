// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace ak::db {

/// Replaces SQLite's sum() on a connection, also as a window function: of integers it is an integer while 64 bits hold
/// it, and then a real number, where SQLite's own ends the whole query. One row with an absurd number would otherwise
/// take every page and query over it down. All else is as SQLite has it.
void replace_sum(sqlite3* connection);

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "db/sqlite.h"

namespace ak::db {

/// Adds the SQL function sample_values(samples) to a connection: the packed samples of a row of
/// `measurements` as a JSON array of nanoseconds, for json_each(). NULL for NULL; an error for what is no
/// blob of whole samples. Throws SqliteError.
void add_sample_values(Connection& connection);

}  // namespace ak::db

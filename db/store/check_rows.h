// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

/// Adds the checks of one workload, all of one seed, to an evaluation: those that passed with errors to four digits,
/// the others whole. Belongs into a Transaction of the caller.
void put_check_group(Connection& connection, RowId evaluation, RowId workload,
                     std::span<const CheckRecord* const> checks);

}  // namespace ak::db

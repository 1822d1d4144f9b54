// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/sets/set_record.h"

namespace ak::db {

/// The row of a kernel set that is about to be made, to which its searches refer. Throws Error(database).
[[nodiscard]] RowId begin_set(const std::filesystem::path& file, const ProblemInstance& problem);

/// What the set came to, in one transaction. Throws Error(database).
void store_set(const std::filesystem::path& file, RowId set, const ProblemInstance& problem,
               const SetRecord& record);

}  // namespace ak::db

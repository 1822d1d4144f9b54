// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "db/sqlite.h"

namespace ak::db {

/// Keeps FILE.schema-VERSION.backup next to a file that is about to be upgraded; where there is one, -2 and so on
/// is appended, because a backup is never overwritten. It is verified before it has its name: complete, and of
/// `version`. Nothing where another process upgraded the file meanwhile, which kept one of its own. Throws
/// Error(database) when it cannot be made: then the file must not be changed.
[[nodiscard]] std::optional<std::filesystem::path> keep_backup(Connection& connection,
                                                               const std::filesystem::path& file,
                                                               std::int64_t version);

}  // namespace ak::db

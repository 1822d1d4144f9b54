// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ak::db {

/// Rows that a merge added, by table.
struct MergedTable {
  std::string table;
  std::int64_t rows = 0, known = 0;  ///< added; there already, by identity or by content
};

/// Adds everything of `from` that `into` lacks, in one transaction: rows are the same where their `uid` is,
/// or where what makes them unique (a content hash, say) is. Merging the same file again adds nothing. `from`
/// is not written to, may be of an older version and may be in use; `into` is made where it is missing.
/// What was running in `from` when it was merged before is brought up to date. Throws Error(database), and
/// Error(usage) when both are the same file.
[[nodiscard]] std::vector<MergedTable> merge(const std::filesystem::path& into,
                                             const std::filesystem::path& from);

}  // namespace ak::db

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
/// is not written to, may be of an older version and may be in use; `into` is made where it is not there.
/// What was running in `from` when it was merged before is brought up to date. Throws Error(database), and
/// Error(usage) when both are the same file.
[[nodiscard]] std::vector<MergedTable> merge(const std::filesystem::path& into,
                                             const std::filesystem::path& from);

/// Writes a database to `to` that has only the sessions that began at `since` or later ("2026-11-16", or with
/// a time; empty: all) and what they refer to; insights only with all of them. Returns the number of
/// sessions. Throws Error(usage) when `to` is there already, Error(database).
std::int64_t export_since(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::string& since);

/// What is wrong with a file; empty: nothing. Structure, constraints, references and content hashes
/// are looked at. Throws Error(database) when it cannot be read at all.
[[nodiscard]] std::vector<std::string> verify(const std::filesystem::path& file);

}  // namespace ak::db

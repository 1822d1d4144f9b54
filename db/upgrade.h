// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "db/sqlite.h"

namespace ak::db {

/// Largest file of an older schema that a reader copies, bytes: a copy of so much takes some ten seconds (chosen).
inline constexpr std::uintmax_t kLargestCopyBytes = std::uintmax_t{1} << 30;

/// Throws Error(database), which says what to do, where there is no such file.
void require_database(const std::filesystem::path& file);

/// A file of the present schema with the contents of `file`: `file` itself, or where that is of an older schema an
/// upgraded copy in the folder for temporary files, which lives as long as the process and is made again when `file`
/// has changed. A note on stderr names the file once. Throws Error(database) when there is no such file, when it
/// belongs to another program or a newer version, and when it is of an older one and larger than kLargestCopyBytes.
[[nodiscard]] std::filesystem::path readable_file(const std::filesystem::path& file);

/// A read-only connection to it.
[[nodiscard]] Connection open_to_read(const std::filesystem::path& file);

/// What an upgrade did to a file.
struct Upgrade {
  std::int64_t from = 0, to = 0;  ///< schema versions; the same where there was nothing to do
};

/// Brings a file to the present schema, with a backup next to it. Throws Error(database), also when there is none.
Upgrade upgrade(const std::filesystem::path& file);

}  // namespace ak::db

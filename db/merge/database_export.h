// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ak::db {

/// Writes a database to `to` that has only the searches that began at `since` or later ("2026-11-16", or with
/// a time; empty: all) and what they refer to; insights only with all of them. Returns the number of
/// searches. Throws Error(usage) when `to` is there already, Error(database).
std::int64_t export_since(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::string& since);

}  // namespace ak::db

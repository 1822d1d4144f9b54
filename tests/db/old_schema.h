// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/database.h"

namespace ak::db::test {

/// Makes an empty database as the program with this schema version left it.
void make_old_database(const std::filesystem::path& file, int version);

/// Rows as texts in the order of their texts; sums of many numbers may differ in their last bits.
[[nodiscard]] std::vector<std::string> rows_of(const std::filesystem::path& file, const std::string& sql,
                                               const QueryValues& values = {});

}  // namespace ak::db::test

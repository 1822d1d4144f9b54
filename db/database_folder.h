// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak::db {

/// Where the user's database is unless it is named: $XDG_DATA_HOME/alphakernel/alphakernel.db, else
/// ~/.local/share/alphakernel/alphakernel.db; empty where neither is known.
[[nodiscard]] std::filesystem::path user_database();

/// Makes the folder of the user's database where it is missing. A folder that someone named is there or was misspelt:
/// throws Error(database) saying that it does not exist.
void prepare_folder(const std::filesystem::path& database);

}  // namespace ak::db

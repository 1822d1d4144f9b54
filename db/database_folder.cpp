// SPDX-License-Identifier: Apache-2.0
#include "db/database_folder.h"

#include <cstdlib>

#include "core/error.h"

namespace ak::db {

std::filesystem::path user_database() {
  if (const char* folder = std::getenv("XDG_DATA_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "alphakernel/alphakernel.db";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".local/share/alphakernel/alphakernel.db";
  return {};
}

void prepare_folder(const std::filesystem::path& database) {
  const std::filesystem::path folder = database.parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::exists(folder, error)) return;
  if (database != user_database())
    fail(ExitCode::database, "the folder {} of the database {} does not exist: make it, or give another --db",
         folder.string(), database.filename().string());
  std::filesystem::create_directories(folder, error);
  if (error)
    fail(ExitCode::database, "cannot make the folder {} of the database: {}", folder.string(),
         error.message());
}

}  // namespace ak::db

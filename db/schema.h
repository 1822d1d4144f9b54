// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "db/sqlite.h"

namespace ak::db {

/// "AKDB" in the file header (PRAGMA application_id): how a file is known to be ours.
inline constexpr std::int64_t kApplicationId = 0x414B4442;

/// Version this program writes: the number of the last file in db/migrations.
[[nodiscard]] std::int64_t schema_version();

/// True for the statfs(2) type of a file system whose locks and shared memory do not serve WAL.
[[nodiscard]] bool is_network_file_system(long type);

/// WAL, or on a network file system a rollback journal and a lock held by this connection alone; FULL
/// synchronisation and foreign keys on. Throws SqliteError.
void set_durability(Connection& connection, bool network);

/// Brings the file to schema_version(), one transaction per migration, as it is: without durability or a backup.
void migrate(Connection& connection);

/// Sets durability and brings the file to schema_version(), for one who writes. Of a file of an older version a
/// backup is kept next to it (db/backup.h), which a note on stderr names.
/// Throws Error(database) when the file belongs to another program or to a newer version; such a
/// file is left untouched.
void prepare_database(Connection& connection, const std::filesystem::path& file);

/// Refuses a file that prepare_database() would refuse, without writing. Returns its schema version; 0 of an empty one.
std::int64_t check_database(Connection& connection, const std::filesystem::path& file);

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#include "db/schema.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/text/print_stderr.h"
#include "db/backup.h"
#include "db/content_uid.h"
#include "migrations.h"

namespace ak::db {
namespace {

struct Migration {
  std::int64_t version;
  std::string_view sql;
};

std::vector<Migration> migrations() {
  std::vector<Migration> list;
  for (const EmbeddedFile& file : migration_files()) {
    const std::string_view number = file.name.substr(std::string_view("migrations/").size(), 4);
    Migration migration{0, file.text};
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), migration.version);
    AK_ASSERT(parsed.ec == std::errc(), "migration files are named NNNN_what.sql");
    list.push_back(migration);
  }
  std::sort(list.begin(), list.end(),
            [](const Migration& a, const Migration& b) { return a.version < b.version; });
  return list;
}

/// File systems on which WAL's shared memory does not work across machines (magic numbers of statfs(2), and
/// of the vendors' own headers for Lustre and GPFS).
constexpr std::array<long, 11> kNetworkFileSystems{0x6969 /* NFS */,
                                                   0x517B /* SMB */,
                                                   0xFF534D42 /* CIFS */,
                                                   0xFE534D42 /* SMB2 */,
                                                   0x0BD00BD0 /* Lustre */,
                                                   0x47504653 /* GPFS */,
                                                   0x65735546 /* FUSE */,
                                                   0x00C36400 /* Ceph */,
                                                   0x5346414F /* AFS */,
                                                   0x19830326 /* BeeGFS */,
                                                   0x01021997 /* 9p */};

bool on_network_file_system(const std::filesystem::path& file) {
  struct statfs info = {};
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  return statfs(folder.c_str(), &info) == 0 && is_network_file_system(static_cast<long>(info.f_type));
}

/// A new file, or one whose maker died before its first migration was committed.
bool is_empty(Connection& connection) { return connection.pragma("schema_version") == 0; }

/// Another process may be switching the same new file to WAL: SQLite answers BUSY at once there,
/// whatever the timeout.
void use_wal(Connection& connection) {
  const auto deadline = std::chrono::steady_clock::now() + kBusyTimeout;
  for (;;) {
    try {
      connection.execute("PRAGMA journal_mode = WAL");
      return;
    } catch (const SqliteError& error) {
      if ((error.result() & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

void print_once(const std::filesystem::path& file) {
  static std::once_flag said;
  std::call_once(said, [&] {
    print_stderr("note: {} is on a network file system: it is locked for this process alone while in use\n",
                 file.string());
  });
}

}  // namespace

bool is_network_file_system(long type) {
  return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), type) != kNetworkFileSystems.end();
}

void set_durability(Connection& connection, bool network) {
  if (network) {
    connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE");
  } else {
    use_wal(connection);
  }
  connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
}

std::int64_t schema_version() { return migrations().back().version; }

std::int64_t check_database(Connection& connection, const std::filesystem::path& file) {
  std::int64_t application = 0, version = 0;
  try {
    // Asked first: another process may commit the first migration between these questions.
    if (is_empty(connection)) return 0;
    application = connection.pragma("application_id");
    version = connection.pragma("user_version");
  } catch (const SqliteError& error) {
    if (error.result() != SQLITE_NOTADB) throw;
    fail(ExitCode::database, "{} is not a database; give another file with --db", file.string());
  }
  if (application != kApplicationId) {
    fail(ExitCode::database, "{} is an SQLite database of another program; give another file with --db",
         file.string());
  }
  if (version > schema_version()) {
    fail(ExitCode::database,
         "{} has schema version {}, this program knows versions up to {}: use a newer alphakernel, or "
         "another --db",
         file.string(), version, schema_version());
  }
  return version;
}

void migrate(Connection& connection) {
  define_content_uid(connection);
  for (const Migration& migration : migrations()) {
    if (connection.pragma("user_version") >= migration.version) continue;
    Transaction transaction(connection);
    // Another process may have migrated while this one waited for the lock.
    if (connection.pragma("user_version") >= migration.version) continue;
    connection.execute(std::string(migration.sql));
    connection.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                                   migration.version));
    transaction.commit();
  }
}

void prepare_database(Connection& connection, const std::filesystem::path& file) {
  const std::int64_t version = check_database(connection, file);
  const bool network = on_network_file_system(file);
  if (network) print_once(file);
  if (version > 0 && version < schema_version()) {
    if (const auto backup = keep_backup(connection, file, version))
      print_stderr("note: {} was written by schema version {} and is upgraded to {}; {} is as it was\n",
                   file.string(), version, schema_version(), backup->string());
  }
  set_durability(connection, network);
  migrate(connection);
}

}  // namespace ak::db

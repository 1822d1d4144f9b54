// SPDX-License-Identifier: Apache-2.0
#include "db/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/statvfs.h>

namespace ak::db {
namespace {

/// The file of a connection; empty where there is none.
std::string file_of(sqlite3* connection) {
  const char* file = connection ? sqlite3_db_filename(connection, "main") : nullptr;
  return file ? file : "";
}

/// What the file system says of a file that could not be opened, read or written; SQLite names the call only.
std::string_view file_problem(const std::string& file) {
  struct statvfs disk = {};
  if (file.empty() || statvfs(std::filesystem::path(file).parent_path().c_str(), &disk) != 0) return "";
  if ((disk.f_flag & ST_RDONLY) != 0)
    return "; it is on a read-only file system: copy it, or give another --db";
  // Even a reader needs a few blocks, for the index of the log.
  constexpr unsigned long kMinBlocks = 16;
  if (disk.f_bavail < kMinBlocks)
    return "; the disk is full: free some space, what was committed before is safe";
  return "";
}

/// What to do about a result code, for the end of a message.
std::string_view remedy(int result, const std::string& file) {
  const auto or_else = [&](std::string_view otherwise) {
    const std::string_view known = file_problem(file);
    return known.empty() ? otherwise : known;
  };
  switch (result & 0xff) {
    case SQLITE_BUSY:
      return "; another process holds the lock: wait for it, or give another --db";
    case SQLITE_FULL:
      return "; free some disk space: what was committed before is safe";
    case SQLITE_IOERR:
      return or_else("; the disk or the network below it failed: what was committed before is safe");
    case SQLITE_READONLY:
      return or_else("; the file or its folder is not writable");
    case SQLITE_CANTOPEN:
      return or_else("; does its folder exist and is it writable?");
    case SQLITE_NOTADB:
      return "; the file is not a database: give another --db";
    case SQLITE_CORRUPT:
      return "; the database is damaged: restore a copy, or give another --db";
    default:
      return "";
  }
}

/// "running 'SELECT ...' in /data/ak.db: disk I/O error; the disk is full: ..."; the file only
/// where it matters.
[[nodiscard]] SqliteError error_of(sqlite3* connection, int result, const std::string& activity,
                                   const std::string& words) {
  const std::string file = file_of(connection);
  const std::string_view advice = remedy(result, file);
  const std::string where = advice.empty() || file.empty() ? "" : " in " + file;
  return {result, fmt::format("{}{}: {}{}", activity, where, words, advice)};
}

[[noreturn]] void throw_error(sqlite3* connection, int result, const std::string& activity) {
  throw error_of(connection, result, activity,
                 connection ? sqlite3_errmsg(connection) : sqlite3_errstr(result));
}

/// " at byte 12", or nothing where SQLite does not know the place.
std::string place(sqlite3* connection) {
  const int offset = sqlite3_error_offset(connection);
  return offset >= 0 ? fmt::format(" at byte {}", offset) : "";
}

std::string shortened(std::string_view sql) {
  constexpr std::size_t kShown = 160;  // the verb, the table and most of the columns
  return std::string(sql.substr(0, kShown)) + (sql.size() > kShown ? "..." : "");
}

}  // namespace

void close_connection(sqlite3* connection) noexcept { sqlite3_close_v2(connection); }
void finalize_statement(sqlite3_stmt* statement) noexcept { sqlite3_finalize(statement); }

Statement::Statement(sqlite3* connection, std::string_view sql, std::string_view* rest) {
  sqlite3_stmt* raw = nullptr;
  const char* end = nullptr;
  const int result = sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &raw, &end);
  handle_.reset(raw);
  if (result != SQLITE_OK)
    throw_error(connection, result, fmt::format("preparing '{}'{}", shortened(sql), place(connection)));
  if (rest) *rest = sql.substr(static_cast<std::size_t>(end - sql.data()));
}

void Statement::check(int result, const char* activity) const {
  if (result == SQLITE_OK) return;
  throw_error(sqlite3_db_handle(handle_.get()), result,
              fmt::format("{} '{}'", activity, shortened(sqlite3_sql(handle_.get()))));
}

Statement& Statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), index, value), "binding to");
  return *this;
}
Statement& Statement::bind(int index, double value) {
  check(sqlite3_bind_double(handle_.get(), index, value), "binding to");
  return *this;
}
Statement& Statement::bind(int index, std::string_view value) {
  check(sqlite3_bind_text64(handle_.get(), index, value.data() ? value.data() : "", value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8),
        "binding to");
  return *this;
}
Statement& Statement::bind(int index, Blob value) {
  // A null pointer would bind NULL instead of an empty BLOB.
  check(value.empty()
            ? sqlite3_bind_zeroblob(handle_.get(), index, 0)
            : sqlite3_bind_blob64(handle_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT),
        "binding to");
  return *this;
}
Statement& Statement::bind(int index, std::nullptr_t) {
  check(sqlite3_bind_null(handle_.get(), index), "binding to");
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  const std::string activity = fmt::format("running '{}'", shortened(sqlite3_sql(handle_.get())));
  sqlite3* connection = sqlite3_db_handle(handle_.get());
  const std::string words = sqlite3_errmsg(connection);
  reset();
  throw error_of(connection, result, activity, words);
}

void Statement::run() {
  while (step()) continue;
  reset();
}

void Statement::reset() noexcept {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)))
               : "";
}

Connection::Connection(const std::filesystem::path& file, OpenMode mode,
                       std::chrono::milliseconds busy_timeout) {
  const int flags =
      mode == OpenMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* raw = nullptr;
  const int result =
      sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(raw);
  if (result != SQLITE_OK)
    throw SqliteError(result, fmt::format("opening database {}: {}{}", file.string(), sqlite3_errmsg(raw),
                                          remedy(result, file.string())));
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout.count()));
}

void Connection::execute(const std::string& sql) {
  for (std::string_view rest = sql; !rest.empty();) {
    Statement statement(handle_.get(), rest, &rest);
    if (statement.get()) statement.run();  // nothing after the last semicolon but blanks and comments
  }
}

Statement& Connection::prepare(const std::string& sql) {
  const auto found = statements_.find(sql);
  if (found == statements_.end())
    return statements_.emplace(sql, Statement(handle_.get(), sql)).first->second;
  found->second.reset();
  return found->second;
}

std::int64_t Connection::pragma(const std::string& name) {
  Statement statement(handle_.get(), "PRAGMA " + name);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Connection::last_row_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

Transaction::Transaction(Connection& connection) : connection_(connection) {
  constexpr int kAttempts = 6;  // half a minute in all, with the busy timeout of a store
  for (int attempt = 1;; ++attempt) {
    try {
      connection_.prepare("BEGIN IMMEDIATE").run();
      return;
    } catch (const SqliteError& error) {
      if ((error.result() & 0xff) != SQLITE_BUSY || attempt == kAttempts) throw;
    }
  }
}

Transaction::~Transaction() {
  // A failed rollback means SQLite rolled back itself (disk full, I/O error); there is nothing else to undo.
  if (open_) sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.prepare("COMMIT").run();
  open_ = false;
}

}  // namespace ak::db

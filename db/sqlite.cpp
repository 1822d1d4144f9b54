// SPDX-License-Identifier: Apache-2.0
#include "db/sqlite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "core/text/file_checks.h"
#include "core/text/suggest.h"
#include "db/checked_sum.h"
#include "db/database_folder.h"

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
  if (disk.f_blocks == 0)
    return "; it is on a file system that stores nothing, such as /proc: give another --db";
  // Even a reader needs a few blocks, for the index of the log.
  constexpr unsigned long kMinBlocks = 16;
  if (disk.f_bavail < kMinBlocks)
    return "; the disk is full: free some space, what was committed before is safe";
  rlimit files = {};
  if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
    return "; the size of files is limited here (ulimit -f): raise that limit, what was committed before is "
           "safe";
  return "";
}

/// SQLite would wait for ever for somebody who writes into a pipe, even in the place of one of its companion files.
void require_regular_files(const std::filesystem::path& file) {
  try {
    for (const char* companion : {"", "-journal", "-wal", "-shm"})
      require_regular_file(file.string() + companion);
  } catch (const Error& error) {
    fail(ExitCode::database, "{}", error.what());
  }
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

/// Without the colon; "?" for one without a name.
std::vector<std::string> parameters_of(sqlite3_stmt* statement) {
  std::vector<std::string> names;
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement); ++i) {
    const char* name = sqlite3_bind_parameter_name(statement, i);
    names.emplace_back(name ? name + 1 : "?");
  }
  return names;
}

/// One of two columns of the same name has another here: which of them it is cannot be said by it.
std::vector<std::string> columns_of(sqlite3_stmt* statement) {
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(statement); ++i)
    names.emplace_back(sqlite3_column_name(statement, i));
  for (std::string& name : names)
    if (const std::string same = name; std::ranges::count(names, same) > 1)
      for (std::string& twin : names)
        if (twin == same) twin += " (twice)";
  return names;
}

std::size_t place_of(std::string_view name, const std::vector<std::string>& names, const char* kind,
                     const auto& activity) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw SqliteError(SQLITE_RANGE, fmt::format("{}: there is no {} '{}'{}; there are: {}", activity(), kind,
                                              name, did_you_mean(name, names), fmt::join(names, ", ")));
}

/// Binds a value of any type to one parameter.
struct Binder {
  sqlite3_stmt* statement;
  int index;
  int operator()(std::nullptr_t) const { return sqlite3_bind_null(statement, index); }
  int operator()(std::int64_t value) const { return sqlite3_bind_int64(statement, index, value); }
  int operator()(double value) const { return sqlite3_bind_double(statement, index, value); }
  int operator()(std::string_view text) const {
    return sqlite3_bind_text64(statement, index, text.data() ? text.data() : "", text.size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  int operator()(Blob bytes) const {
    // A null pointer would bind NULL instead of an empty BLOB.
    return bytes.empty()
               ? sqlite3_bind_zeroblob(statement, index, 0)
               : sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  }
};

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
  parameters_ = parameters_of(raw);
  columns_ = columns_of(raw);
}

std::string Statement::activity(const char* verb) const {
  return fmt::format("{} '{}'", verb, shortened(sqlite3_sql(handle_.get())));
}

void Statement::check(int result, const char* verb) const {
  if (result != SQLITE_OK) throw_error(sqlite3_db_handle(handle_.get()), result, activity(verb));
}

Statement& Statement::bind(int index, const Value& value) {
  check(std::visit(Binder{handle_.get(), index}, value.content()), "binding to");
  return *this;
}

Statement& Statement::bind(std::span<const NamedValue> values) {
  std::vector<bool> bound(parameters_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view name = values[i].name;
    // Mostly the values come in the order of the parameters.
    const bool in_order = i < parameters_.size() && parameters_[i] == name;
    const std::size_t place =
        in_order ? i : place_of(name, parameters_, "parameter", [&] { return activity("binding to"); });
    if (bound[place]) fail_binding("two values are given for", name);
    bound[place] = true;
    bind(static_cast<int>(place) + 1, values[i].value);
  }
  const auto missing = std::ranges::find(bound, false);
  if (missing != bound.end())
    fail_binding("no value is given for", parameters_[static_cast<std::size_t>(missing - bound.begin())]);
  return *this;
}

void Statement::fail_binding(const char* mistake, std::string_view parameter) const {
  throw SqliteError(SQLITE_RANGE, fmt::format("{}: {} '{}'", activity("binding to"), mistake, parameter));
}

bool Statement::step() {
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  const std::string running = activity("running");
  sqlite3* connection = sqlite3_db_handle(handle_.get());
  const std::string words = sqlite3_errmsg(connection);
  reset();
  throw error_of(connection, result, running, words);
}

void Statement::run() {
  while (step()) continue;
  reset();
}

void Statement::reset() noexcept {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

int Statement::column(std::string_view name) const {
  return static_cast<int>(place_of(name, columns_, "column", [&] { return activity("reading"); }));
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

std::vector<unsigned char> Statement::bytes(int column) const {
  const auto* first = static_cast<const unsigned char*>(sqlite3_column_blob(handle_.get(), column));
  return {first, first + sqlite3_column_bytes(handle_.get(), column)};
}

Connection::Connection(const std::filesystem::path& file, OpenMode mode,
                       std::chrono::milliseconds busy_timeout) {
  const int flags =
      mode == OpenMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  require_regular_files(file);
  if (mode == OpenMode::create) prepare_folder(file);
  sqlite3* raw = nullptr;
  const int result =
      sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(raw);
  if (result != SQLITE_OK)
    throw SqliteError(result, fmt::format("opening database {}: {}{}", file.string(), sqlite3_errmsg(raw),
                                          remedy(result, file.string())));
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout.count()));
  replace_sum(raw);
}

void Connection::execute(const std::string& sql) {
  for (std::string_view rest = sql; !rest.empty();) {
    Statement statement(handle_.get(), rest, &rest);
    if (statement.get()) statement.run();  // nothing after the last semicolon but blanks and comments
  }
}

Statement& Connection::prepare(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found == statements_.end())
    return statements_.emplace(std::string(sql), Statement(handle_.get(), sql)).first->second;
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

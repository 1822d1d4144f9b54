// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/unique_handle.h"
#include "db/value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ak::db {

void close_connection(sqlite3* connection) noexcept;
void finalize_statement(sqlite3_stmt* statement) noexcept;
using ConnectionHandle = UniqueHandle<sqlite3*, close_connection>;
using StatementHandle = UniqueHandle<sqlite3_stmt*, finalize_statement>;

/// A failed SQLite call: what was being done and the library's words; never bound values.
class SqliteError : public Error {
 public:
  SqliteError(int result, const std::string& message) : Error(ExitCode::database, message), result_(result) {}
  [[nodiscard]] int result() const noexcept { return result_; }  ///< SQLITE_BUSY, ...

 private:
  int result_;
};

/// A prepared statement. Belongs to one connection and one thread.
class Statement {
 public:
  /// Prepares the first statement of `sql`; `rest`, where given, is set to what follows it. Throws
  /// SqliteError quoting the SQL and the byte offset of the mistake.
  Statement(sqlite3* connection, std::string_view sql, std::string_view* rest = nullptr);

  /// @param index of a parameter, from 1
  Statement& bind(int index, const Value& value);
  /// Values for all parameters by name. Throws SqliteError for a name that is not one of them or is given twice,
  /// and for a parameter without a value.
  Statement& bind(std::span<const NamedValue> values);

  /// True while there is a row. Throws SqliteError.
  bool step();
  /// Runs to the end, then makes the statement ready for new values.
  void run();
  void reset() noexcept;

  /// Where a column of the answer is, from 0. Throws SqliteError where there is none of this name, or two.
  [[nodiscard]] int column(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::optional<double> real(int column) const;  ///< nothing for NULL
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::vector<unsigned char> bytes(int column) const;
  [[nodiscard]] sqlite3_stmt* get() const noexcept { return handle_.get(); }

 private:
  void check(int result, const char* activity) const;
  [[nodiscard]] std::string activity(const char* verb) const;
  [[noreturn]] void fail_binding(const char* mistake, std::string_view parameter) const;
  StatementHandle handle_;
  std::vector<std::string> parameters_, columns_;  ///< names, in order
};

enum class OpenMode : std::uint8_t { create, read_only };

/// How long one call waits for another process's lock. Longest commit of another writer: an fsync, some
/// milliseconds; longest expected: a checkpoint of a large log on a slow disk.
inline constexpr std::chrono::milliseconds kBusyTimeout{5'000};

/// One connection, used by one thread. Statements made by `prepare` are cached by their text.
class Connection {
 public:
  /// Throws SqliteError naming the file, and Error(database) where it or a companion of it (its log, its journal) is
  /// there and no regular file: a pipe, a socket, a device, a folder.
  Connection(const std::filesystem::path& file, OpenMode mode,
             std::chrono::milliseconds busy_timeout = kBusyTimeout);

  void execute(const std::string& sql);  ///< several statements, no parameters
  /// Ready for values; owned by the connection, valid until the next call with the same text.
  Statement& prepare(std::string_view sql);
  [[nodiscard]] std::int64_t pragma(const std::string& name);
  [[nodiscard]] std::int64_t last_row_id() const;
  [[nodiscard]] sqlite3* get() const noexcept { return handle_.get(); }

 private:
  ConnectionHandle handle_;
  std::map<std::string, Statement, std::less<>> statements_;
};

/// BEGIN IMMEDIATE now; rolled back when it goes out of scope without commit(). The beginning is
/// tried a few times, each for the connection's busy timeout, because a run of hours should not end
/// for a colleague's VACUUM.
class Transaction {
 public:
  [[nodiscard]] explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace ak::db

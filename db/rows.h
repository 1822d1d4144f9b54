// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace ak::db {

// Rows by the names of their columns. A name that a table, a statement or an answer does not have, has twice or
// lacks a value for is an SqliteError that says which, when the statement runs for the first time. Statements are
// prepared once per connection and text. Functions that write belong into a Transaction of the caller where more
// than one of them must hold.

/// The answer to a SELECT, row by row. Belongs to the statement's connection; the same SELECT is not asked again
/// while it lives.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(statement) {}
  ~Rows() { statement_.reset(); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Goes to the first row, then to the next; false where there is none.
  [[nodiscard]] bool next() { return statement_.step(); }

  /// NULL is 0 here, false, the empty text and no bytes.
  template <class T = std::int64_t>
  [[nodiscard]] T integer(std::string_view column) const {
    return static_cast<T>(statement_.integer(statement_.column(column)));
  }
  [[nodiscard]] bool flag(std::string_view column) const { return integer(column) != 0; }
  [[nodiscard]] std::string text(std::string_view column) const {
    return statement_.text(statement_.column(column));
  }
  [[nodiscard]] std::vector<unsigned char> bytes(std::string_view column) const {
    return statement_.bytes(statement_.column(column));
  }
  /// NULL is nothing here.
  [[nodiscard]] std::optional<double> real(std::string_view column) const {
    return statement_.real(statement_.column(column));
  }
  template <class T = std::int64_t>
  [[nodiscard]] std::optional<T> known_integer(std::string_view column) const {
    return is_null(column) ? std::nullopt : std::optional(integer<T>(column));
  }
  [[nodiscard]] bool is_null(std::string_view column) const { return !real(column); }

 private:
  Statement& statement_;
};

/// Asks; `values` are those of all parameters ":name" in the SQL.
[[nodiscard]] Rows select(Connection& connection, std::string_view sql, NamedValues values = {});

/// The only column of the first row; nothing without a row, or for NULL.
[[nodiscard]] std::optional<std::int64_t> select_integer(Connection& connection, std::string_view sql,
                                                         NamedValues values = {});
/// The only column of all rows.
[[nodiscard]] std::vector<std::int64_t> select_integers(Connection& connection, std::string_view sql,
                                                        NamedValues values = {});
[[nodiscard]] std::vector<std::string> select_texts(Connection& connection, std::string_view sql,
                                                    NamedValues values = {});

/// Runs one statement that answers nothing.
void run(Connection& connection, std::string_view sql, NamedValues values);

/// Adds a row with these columns; the others have their defaults. Returns its id, which means nothing where
/// `conflict` ("ON CONFLICT ...") kept it out.
std::int64_t insert(Connection& connection, std::string_view table, NamedValues columns,
                    std::string_view conflict = "");

/// The id of a row with these columns; nothing without one.
[[nodiscard]] std::optional<std::int64_t> find(Connection& connection, std::string_view table,
                                               NamedValues columns);

/// Sets these columns of the row `id`.
void update(Connection& connection, std::string_view table, std::int64_t id, NamedValues columns);

}  // namespace ak::db

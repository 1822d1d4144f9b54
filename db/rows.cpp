// SPDX-License-Identifier: Apache-2.0
#include "db/rows.h"

#include <fmt/format.h>

#include <span>

namespace ak::db {
namespace {

/// "a, b" or, with the prefix ":", ":a, :b".
std::string listed(NamedValues columns, std::string_view prefix) {
  std::string text;
  for (const auto& [name, value] : columns) text.append(text.empty() ? "" : ", ").append(prefix).append(name);
  return text;
}

/// "a = :a, b = :b".
std::string equated(NamedValues columns, std::string_view separator) {
  std::string text;
  for (const auto& [name, value] : columns)
    text.append(text.empty() ? "" : separator).append(name).append(" = :").append(name);
  return text;
}

Statement& bound(Connection& connection, std::string_view sql, NamedValues values) {
  return connection.prepare(sql).bind(std::span(values.begin(), values.size()));
}

}  // namespace

Rows select(Connection& connection, std::string_view sql, NamedValues values) {
  return Rows(bound(connection, sql, values));
}

std::optional<std::int64_t> select_integer(Connection& connection, std::string_view sql, NamedValues values) {
  Statement& statement = bound(connection, sql, values);
  Rows rows(statement);
  return rows.next() && statement.real(0) ? std::optional(statement.integer(0)) : std::nullopt;
}

std::vector<std::int64_t> select_integers(Connection& connection, std::string_view sql, NamedValues values) {
  Statement& statement = bound(connection, sql, values);
  std::vector<std::int64_t> list;
  for (Rows rows(statement); rows.next();) list.push_back(statement.integer(0));
  return list;
}

std::vector<std::string> select_texts(Connection& connection, std::string_view sql, NamedValues values) {
  Statement& statement = bound(connection, sql, values);
  std::vector<std::string> list;
  for (Rows rows(statement); rows.next();) list.push_back(statement.text(0));
  return list;
}

void run(Connection& connection, std::string_view sql, NamedValues values) {
  bound(connection, sql, values).run();
}

std::int64_t insert(Connection& connection, std::string_view table, NamedValues columns,
                    std::string_view conflict) {
  run(connection,
      fmt::format("INSERT INTO {} ({}) VALUES ({}) {}", table, listed(columns, ""), listed(columns, ":"),
                  conflict),
      columns);
  return connection.last_row_id();
}

std::optional<std::int64_t> find(Connection& connection, std::string_view table, NamedValues columns) {
  return select_integer(connection,
                        fmt::format("SELECT id FROM {} WHERE {}", table, equated(columns, " AND ")), columns);
}

void update(Connection& connection, std::string_view table, std::int64_t id, NamedValues columns) {
  std::vector<NamedValue> values(columns);
  values.push_back({"id", id});
  connection.prepare(fmt::format("UPDATE {} SET {} WHERE id = :id", table, equated(columns, ", ")))
      .bind(values)
      .run();
}

}  // namespace ak::db

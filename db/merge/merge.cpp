// SPDX-License-Identifier: Apache-2.0
#include "db/merge/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "db/merge/snapshot.h"
#include "db/merge/table_shape.h"
#include "db/rows.h"
#include "db/schema.h"

namespace ak::db {
namespace {

/// Variants that a text names by their numbers, as it must name them here.
struct NumbersInText {
  std::string_view table, column, sql;
};
constexpr std::array kNumbersInTexts{
    // "variants": [[1, 2], [3, 4]], pairs of them or single ones
    NumbersInText{"insights", "evidence", R"sql(
      iif(json_type(o.evidence, '$.variants') = 'array',
          json_set(o.evidence, '$.variants', json((
            SELECT json_group_array(json((SELECT json_group_array(m.new) FROM json_each(g.value) v
                                          CROSS JOIN temp.map_variants m ON m.old = v.value)))
            FROM json_each(o.evidence, '$.variants') g))),
          o.evidence))sql"},
    // what the attempt with "variant 7" taught
    NumbersInText{"insights", "subject", R"sql(
      iif(o.kind = 'attempt',
          coalesce((SELECT 'variant ' || m.new FROM temp.map_variants m WHERE m.old = CAST(substr(o.subject, 9) AS INTEGER)),
                   o.subject),
          o.subject))sql"},
    // the champion that a challenger was compared with
    NumbersInText{"evaluations", "request", R"sql(
      coalesce((SELECT json_set(o.request, '$.tag', CAST(m.new AS TEXT)) FROM other.proposals p
                JOIN temp.map_variants m ON m.old = CAST(o.request ->> '$.tag' AS INTEGER)
                WHERE p.id = o.proposal_id AND p.arm = 'comparison'), o.request))sql"},
};

/// A column of the other file's row `o` as it must be here.
std::string translated(const TableShape& table, const std::string& column) {
  const auto numbers = std::ranges::find_if(kNumbersInTexts, [&](const NumbersInText& text) {
    return text.table == table.name && text.column == column;
  });
  if (numbers != kNumbersInTexts.end()) return std::string(numbers->sql);
  const auto reference = table.references.find(column);
  return reference == table.references.end()
             ? "o." + column
             : fmt::format("(SELECT new FROM temp.map_{} WHERE old = o.{})", reference->second, column);
}

std::string translated(const TableShape& table, const std::vector<std::string>& columns) {
  std::vector<std::string> list;
  for (const std::string& column : columns) list.push_back(translated(table, column));
  return fmt::format("{}", fmt::join(list, ", "));
}

/// All columns but the id, which another row may have here.
std::vector<std::string> copied_columns(const TableShape& table) {
  std::vector<std::string> columns = table.columns;
  std::erase(columns, "id");
  return columns;
}

/// What was running when it was copied before, and has ended since; or had ended, and went on.
void copy_ended_rows(Connection& connection, const TableShape& table) {
  std::vector<std::string> columns = copied_columns(table);
  std::erase(columns, "uid");
  connection.execute(
      fmt::format("UPDATE main.{0} SET ({1}) = (SELECT {2} FROM other.{0} o WHERE o.uid = {0}.uid) WHERE "
                  "uid IN (SELECT o.uid FROM other.{0} o CROSS JOIN main.{0} m ON m.uid = o.uid "
                  "WHERE o.ended_at > coalesce(m.ended_at, ''))",
                  table.name, fmt::join(columns, ", "), translated(table, columns)));
}

/// Searches of a queue are as new as the queue, which has its times.
void copy_searches_of_sessions(Connection& connection, const TableShape& table) {
  std::vector<std::string> columns = copied_columns(table);
  std::erase(columns, "uid");
  connection.execute(fmt::format(
      "UPDATE main.{0} SET ({1}) = (SELECT {2} FROM other.{0} o WHERE o.uid = {0}.uid) WHERE uid IN "
      "(SELECT o.uid FROM other.{0} o JOIN other.sessions q ON q.id = o.session_id JOIN main.sessions m "
      "ON m.uid = q.uid AND m.ended_at = q.ended_at)",
      table.name, fmt::join(columns, ", "), translated(table, columns)));
}

/// An insight that both have is that of the file that learned it last; of two of the same time the one by text.
void copy_later_insights(Connection& connection, const TableShape& table) {
  std::vector<std::string> columns = copied_columns(table);
  std::erase(columns, "uid");
  connection.execute(fmt::format(
      "UPDATE main.insights SET ({}) = (SELECT {} FROM temp.map_insights m JOIN other.insights o ON o.id = "
      "m.old "
      "WHERE m.new = insights.id) WHERE id IN (SELECT m.new FROM temp.map_insights m JOIN other.insights o "
      "ON o.id = "
      "m.old JOIN main.insights i ON i.id = m.new WHERE NOT m.fresh AND (o.created_at, o.text, o.uid) > "
      "(i.created_at, i.text, i.uid))",
      fmt::join(columns, ", "), translated(table, columns)));
}

/// Fills temp.map_TABLE: rows of the other file by the row that is the same here, and which of them are new here.
void add_by_identity(Connection& connection, const TableShape& table) {
  const std::string map = "temp.map_" + table.name;
  connection.execute(fmt::format(
      "CREATE TABLE {} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, fresh INTEGER NOT NULL)", map));
  const auto note_same = [&](int fresh, const std::string& condition) {
    connection.execute(fmt::format(
        "INSERT OR IGNORE INTO {0} SELECT o.id, m.id, {1} FROM other.{2} o JOIN main.{2} m ON {3}", map,
        fresh, table.name, condition));
  };
  note_same(0, "m.uid = o.uid");
  for (const auto& key : table.unique_keys) {
    std::vector<std::string> parts;
    for (const std::string& column : key)
      parts.push_back(fmt::format("m.{} = {}", column, translated(table, column)));
    note_same(0, fmt::format("{}", fmt::join(parts, " AND ")));
  }
  if (table.has("ended_at")) copy_ended_rows(connection, table);
  const std::vector<std::string> columns = copied_columns(table);
  connection.execute(fmt::format(
      "INSERT INTO main.{0} ({1}) SELECT {2} FROM other.{0} o WHERE o.id NOT IN (SELECT old FROM {3}) "
      "ORDER BY o.id",
      table.name, fmt::join(columns, ", "), translated(table, columns), map));
  note_same(1, "m.uid = o.uid");
  if (table.name == "insights") copy_later_insights(connection, table);
  if (table.name == "session_searches") copy_searches_of_sessions(connection, table);
}

/// Rows without an identity belong to one row of another table, and came with it or not at all; those that
/// are nothing but two references are the same where both are.
void add_owned(Connection& connection, const TableShape& table) {
  std::string condition;
  if (table.has("id")) {
    const auto& [column, owner] = *table.references.begin();
    condition = fmt::format(" WHERE (SELECT fresh FROM temp.map_{} WHERE old = o.{})", owner, column);
  }
  const std::vector<std::string> columns = copied_columns(table);
  connection.execute(fmt::format("INSERT OR IGNORE INTO main.{0} ({1}) SELECT {2} FROM other.{0} o{3}",
                                 table.name, fmt::join(columns, ", "), translated(table, columns),
                                 condition));
}

MergedTable add_table(Connection& connection, const TableShape& table) {
  const auto count = [&](const char* file) {
    return select_integer(connection, fmt::format("SELECT count(*) FROM {}.{}", file, table.name))
        .value_or(0);
  };
  const std::int64_t before = count("main");
  if (table.has("uid"))
    add_by_identity(connection, table);
  else
    add_owned(connection, table);
  const std::int64_t added = count("main") - before;
  return {.table = table.name, .rows = added, .known = count("other") - added};
}

}  // namespace

std::vector<MergedTable> merge(const std::filesystem::path& into, const std::filesystem::path& from) {
  if (!std::filesystem::exists(from))
    fail(ExitCode::bad_input, "{}: there is no such database", from.string());
  std::error_code none;
  if (std::filesystem::equivalent(into, from, none))
    fail(ExitCode::usage, "{} cannot be merged into itself", from.string());
  Connection connection(into, OpenMode::create);
  prepare_database(connection, into);
  const Snapshot snapshot(from, into);
  run(connection, "ATTACH :file AS other", {{"file", snapshot.file().string()}});
  std::vector<MergedTable> merged;
  {
    Transaction transaction(connection);
    for (const TableShape& table : tables_in_order(connection))
      merged.push_back(add_table(connection, table));
    transaction.commit();
  }
  connection.execute("DETACH other");
  return merged;
}

}  // namespace ak::db

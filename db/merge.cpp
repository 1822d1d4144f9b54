// SPDX-License-Identifier: Apache-2.0
#include "db/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "core/text/hash.h"
#include "db/schema.h"
#include "db/sql_text.h"
#include "db/sqlite.h"

namespace ak::db {
namespace {

namespace fs = std::filesystem;

/// A table as the schema declares it.
struct TableShape {
  std::string name;
  std::vector<std::string> columns;
  std::map<std::string, std::string> references;      ///< column -> table whose id it holds
  std::vector<std::vector<std::string>> unique_keys;  ///< in addition to uid and id
  [[nodiscard]] bool has(const std::string& column) const {
    return std::ranges::find(columns, column) != columns.end();
  }
};

std::vector<std::string> texts(Connection& connection, const std::string& sql) {
  std::vector<std::string> list;
  Statement statement(connection.get(), sql);
  while (statement.step()) list.push_back(statement.text(0));
  return list;
}

TableShape shape_of(Connection& connection, const std::string& name) {
  const std::string literal = sql_text(name);
  TableShape shape{.name = name, .columns = {}, .references = {}, .unique_keys = {}};
  shape.columns = texts(connection, fmt::format("SELECT name FROM pragma_table_info({})", literal));
  Statement keys(connection.get(),
                 fmt::format("SELECT \"from\", \"table\" FROM pragma_foreign_key_list({})", literal));
  while (keys.step()) shape.references[keys.text(0)] = keys.text(1);
  for (const std::string& index : texts(
           connection,
           fmt::format("SELECT name FROM pragma_index_list({}) WHERE \"unique\" AND NOT partial", literal))) {
    auto key = texts(connection, fmt::format("SELECT name FROM pragma_index_info({})", sql_text(index)));
    if (key != std::vector<std::string>{"uid"}) shape.unique_keys.push_back(std::move(key));
  }
  return shape;
}

/// Tables before those that refer to them. Those of the full-text index are filled by triggers, and so are
/// the derived ones.
std::vector<TableShape> tables_in_order(Connection& connection) {
  std::vector<TableShape> left, ordered;
  for (const std::string& name :
       texts(connection,
             "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE "
             "'insights_text%' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('scores', 'session_figures') "
             "ORDER BY name"))
    left.push_back(shape_of(connection, name));
  std::set<std::string> done;
  while (!left.empty()) {
    const auto ready = std::ranges::find_if(left, [&](const TableShape& table) {
      return std::ranges::all_of(table.references, [&](const auto& reference) {
        return reference.second == table.name || done.contains(reference.second);
      });
    });
    AK_ASSERT(ready != left.end(), "tables refer to each other in no circle");
    done.insert(ready->name);
    ordered.push_back(std::move(*ready));
    left.erase(ready);
  }
  return ordered;
}

/// A column of the other file's row `o` as it must be here.
std::string translated(const TableShape& table, const std::string& column) {
  const auto reference = table.references.find(column);
  return reference == table.references.end()
             ? "o." + column
             : fmt::format("(SELECT new FROM temp.map_{} WHERE old = o.{})", reference->second, column);
}

class Merge {
 public:
  explicit Merge(Connection& connection) : connection_(connection) {}

  MergedTable add(const TableShape& table) {
    const std::int64_t before = count(table), others = integer("SELECT count(*) FROM other." + table.name);
    if (table.has("uid"))
      add_by_identity(table);
    else
      add_owned(table);
    const std::int64_t added = count(table) - before;
    return {.table = table.name, .rows = added, .known = others - added};
  }

 private:
  std::int64_t integer(const std::string& sql) {
    Statement statement(connection_.get(), sql);
    return statement.step() ? statement.integer(0) : 0;
  }
  std::int64_t count(const TableShape& table) { return integer("SELECT count(*) FROM main." + table.name); }

  [[nodiscard]] static std::vector<std::string> inserted(const TableShape& table) {
    std::vector<std::string> columns = table.columns;
    std::erase(columns, "id");
    return columns;
  }
  [[nodiscard]] static std::string values(const TableShape& table) {
    std::vector<std::string> list;
    for (const std::string& column : inserted(table)) list.push_back(translated(table, column));
    return fmt::format("{}", fmt::join(list, ", "));
  }

  void add_by_identity(const TableShape& table) {
    const std::string map = "temp.map_" + table.name;
    connection_.execute(
        fmt::format("CREATE TABLE {} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, fresh INTEGER "
                    "NOT NULL)",
                    map));
    const std::string same =
        fmt::format("INSERT OR IGNORE INTO {} SELECT o.id, m.id, {{}} FROM other.{} o JOIN main.{} m ON ",
                    map, table.name, table.name);
    const auto note_same = [&](int fresh, const std::string& condition) {
      connection_.execute(fmt::format(fmt::runtime(same), fresh) + condition);
    };
    note_same(0, "m.uid = o.uid");
    for (const auto& key : table.unique_keys) {
      std::vector<std::string> parts;
      for (const std::string& column : key)
        parts.push_back(fmt::format("m.{} = {}", column, translated(table, column)));
      note_same(0, fmt::format("{}", fmt::join(parts, " AND ")));
    }
    if (table.has("ended_at")) copy_ended_rows(table);
    connection_.execute(fmt::format(
        "INSERT INTO main.{} ({}) SELECT {} FROM other.{} o WHERE o.id NOT IN (SELECT old FROM {}) "
        "ORDER BY o.id",
        table.name, fmt::join(inserted(table), ", "), values(table), table.name, map));
    note_same(1, "m.uid = o.uid");
  }

  void copy_ended_rows(const TableShape& table) {
    std::vector<std::string> columns = inserted(table);
    std::erase(columns, "uid");
    connection_.execute(
        fmt::format("UPDATE main.{0} SET ({1}) = (SELECT {2} FROM other.{0} o WHERE o.uid = {0}.uid) WHERE "
                    "ended_at IS NULL AND "
                    "uid IN (SELECT uid FROM other.{0} WHERE ended_at IS NOT NULL)",
                    table.name, fmt::join(columns, ", "), fmt::join(translated_all(table, columns), ", ")));
  }
  [[nodiscard]] static std::vector<std::string> translated_all(const TableShape& table,
                                                               const std::vector<std::string>& columns) {
    std::vector<std::string> list;
    for (const std::string& column : columns) list.push_back(translated(table, column));
    return list;
  }

  /// Rows without an identity belong to one row of another table, and came with it or not at all; those that
  /// are nothing but two references are the same where both are.
  void add_owned(const TableShape& table) {
    std::string condition;
    if (table.has("id")) {
      const auto& [column, owner] = *table.references.begin();
      condition = fmt::format(" WHERE (SELECT fresh FROM temp.map_{} WHERE old = o.{})", owner, column);
    }
    connection_.execute(fmt::format("INSERT OR IGNORE INTO main.{} ({}) SELECT {} FROM other.{} o{}",
                                    table.name, fmt::join(inserted(table), ", "), values(table), table.name,
                                    condition));
  }

  Connection& connection_;
};

/// A copy of a database that may be in use, of this version, removed at the end.
class Snapshot {
 public:
  Snapshot(const fs::path& of, const fs::path& near) : file_(near.string() + ".snapshot-" + random_name()) {
    Connection source(of, OpenMode::read_only);
    check_database(source, of);
    source.execute("VACUUM INTO " + sql_text(file_.string()));
    Connection copy(file_, OpenMode::create);
    prepare_database(copy, file_);
    copy.execute("PRAGMA journal_mode = DELETE");
  }
  ~Snapshot() {
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(file_.string() + end, ignored);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  [[nodiscard]] const fs::path& file() const { return file_; }

 private:
  static std::string random_name() {
    const auto uid = random_uid();
    return sha256_hex({reinterpret_cast<const char*>(uid.data()), uid.size()}).substr(0, 16);
  }
  fs::path file_;
};

/// Rows that sessions share, and that go with the last of them. Those of tables without an identity belong to
/// one row and need nothing else, but a variant's parents are needed.
void delete_unreferenced(Connection& connection, const std::vector<TableShape>& tables) {
  const std::set<std::string> shared{"builds",      "variants", "sources",     "workloads",
                                     "definitions", "devices",  "environments"};
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    if (!shared.contains(table->name)) continue;
    std::vector<std::string> unused;
    for (const TableShape& other : tables) {
      for (const auto& [column, to] : other.references) {
        if (to != table->name || (!other.has("uid") && column != "parent_id")) continue;
        unused.push_back(
            fmt::format("id NOT IN (SELECT {0} FROM {1} WHERE {0} IS NOT NULL)", column, other.name));
      }
    }
    connection.execute(fmt::format("DELETE FROM {} WHERE {}", table->name, fmt::join(unused, " AND ")));
  }
}

void delete_orphans(Connection& connection, const std::vector<TableShape>& tables) {
  for (const TableShape& table : tables)
    for (const auto& [column, to] : table.references)
      connection.execute(
          fmt::format("DELETE FROM {0} WHERE {1} IS NOT NULL AND {1} NOT IN (SELECT id FROM {2})", table.name,
                      column, to));
}

/// A table that triggers keep, and the view that says what it holds.
struct DerivedTable {
  std::string_view table, view, key;
};
constexpr std::array kDerived{
    DerivedTable{"scores", "scores_defined", "evaluation_id"},
    DerivedTable{"session_figures", "session_figures_defined", "session_id"},
};

/// Rows whose evaluations or session were taken away: the triggers know nothing of what they
/// belonged to then.
void delete_stale(Connection& connection) {
  connection.execute(
      "DELETE FROM scores WHERE session_id NOT IN (SELECT id FROM sessions);"
      "DELETE FROM session_figures WHERE session_id NOT IN (SELECT id FROM sessions)");
}

/// What the derived tables hold and should not, and the other way round; an example of each.
std::vector<std::string> derived_mistakes(Connection& connection) {
  std::vector<std::string> wrong;
  const auto compare = [&](const DerivedTable& derived, std::string_view have, std::string_view lack,
                           const char* words) {
    Statement rows(connection.get(),
                   fmt::format("SELECT count(*), min({0}) FROM (SELECT * FROM {1} EXCEPT SELECT * FROM {2})",
                               derived.key, have, lack));
    if (rows.step() && rows.integer(0) > 0)
      wrong.push_back(fmt::format("{}: {} rows {}, the first of {} {}", derived.table, rows.integer(0), words,
                                  derived.key, rows.integer(1)));
  };
  for (const DerivedTable& derived : kDerived) {
    compare(derived, derived.table, derived.view, "should not be there");
    compare(derived, derived.view, derived.table, "are missing");
  }
  return wrong;
}

}  // namespace

std::vector<MergedTable> merge(const fs::path& into, const fs::path& from) {
  if (!fs::exists(from)) fail(ExitCode::bad_input, "{}: there is no such database", from.string());
  std::error_code none;
  if (fs::equivalent(into, from, none))
    fail(ExitCode::usage, "{} cannot be merged into itself", from.string());
  Connection connection(into, OpenMode::create);
  prepare_database(connection, into);
  const Snapshot snapshot(from, into);
  connection.execute("ATTACH " + sql_text(snapshot.file().string()) + " AS other");
  std::vector<MergedTable> merged;
  {
    Transaction transaction(connection);
    Merge merge(connection);
    for (const TableShape& table : tables_in_order(connection)) merged.push_back(merge.add(table));
    transaction.commit();
  }
  connection.execute("DETACH other");
  return merged;
}

std::int64_t export_since(const fs::path& from, const fs::path& to, const std::string& since) {
  if (fs::exists(to)) fail(ExitCode::usage, "{} is there already: name a new file", to.string());
  const Snapshot snapshot(from, to);
  Connection connection(snapshot.file(), OpenMode::create);
  const std::vector<TableShape> tables = tables_in_order(connection);
  connection.execute("PRAGMA foreign_keys = OFF");
  connection.execute("DELETE FROM sessions WHERE started_at < " + sql_text(since));
  if (!since.empty()) connection.execute("DELETE FROM insights");  // they are based on more than is left
  delete_orphans(connection, tables);
  delete_unreferenced(connection, tables);
  delete_orphans(connection, tables);
  delete_stale(connection);
  Statement count(connection.get(), "SELECT count(*) FROM sessions");
  const std::int64_t sessions = count.step() ? count.integer(0) : 0;
  count.reset();
  connection.execute("VACUUM INTO " + sql_text(to.string()));
  return sessions;
}

std::vector<std::string> verify(const fs::path& file) {
  if (!fs::exists(file)) fail(ExitCode::bad_input, "{}: there is no such database", file.string());
  Connection connection(file, OpenMode::read_only);
  check_database(connection, file);
  std::vector<std::string> wrong;
  for (const std::string& line : texts(connection, "SELECT * FROM pragma_integrity_check"))
    if (line != "ok") wrong.push_back(line);
  for (const std::string& line : texts(connection,
                                       "SELECT format('row %d of %s refers to a row of %s that is not "
                                       "there', rowid, \"table\", parent) FROM "
                                       "pragma_foreign_key_check"))
    wrong.push_back(line);
  Statement sources(connection.get(), "SELECT id, content_hash, text FROM sources");
  while (sources.step())
    if (sha256_hex(sources.text(2)) != sources.text(1))
      wrong.push_back(fmt::format("source {} is not the text of its hash", sources.integer(0)));
  for (std::string& line : derived_mistakes(connection)) wrong.push_back(std::move(line));
  return wrong;
}

}  // namespace ak::db

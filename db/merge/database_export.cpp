// SPDX-License-Identifier: Apache-2.0
#include "db/merge/database_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "db/merge/snapshot.h"
#include "db/merge/table_shape.h"
#include "db/rows.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

/// Rows that searches share, and that go with the last of them. Those of tables without an identity belong to
/// one row and need nothing else, but a variant's parents and an evaluation's checks are needed.
void delete_unreferenced(Connection& connection, const std::vector<TableShape>& tables) {
  const std::set<std::string> shared{"builds",    "variants",    "sources", "plans",        "check_groups",
                                     "workloads", "definitions", "devices", "environments", "kernel_sets"};
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    if (!shared.contains(table->name)) continue;
    std::vector<std::string> unused;
    for (const TableShape& other : tables) {
      for (const auto& [column, to] : other.references) {
        if (to != table->name || (!other.has("uid") && column != "parent_id" && column != "group_id"))
          continue;
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

/// Rows whose evaluations or search were taken away: the triggers know nothing of what they
/// belonged to then.
void delete_stale(Connection& connection) {
  connection.execute(
      "DELETE FROM scores WHERE search_id NOT IN (SELECT id FROM searches);"
      "DELETE FROM search_figures WHERE search_id NOT IN (SELECT id FROM searches)");
}

}  // namespace

std::int64_t export_since(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::string& since) {
  if (std::filesystem::exists(to)) fail(ExitCode::usage, "{} is there already: name a new file", to.string());
  require_database(from);
  const Snapshot snapshot(from, to);
  Connection connection(snapshot.file(), OpenMode::create);
  const std::vector<TableShape> tables = tables_in_order(connection);
  connection.execute("PRAGMA foreign_keys = OFF");
  run(connection, "DELETE FROM searches WHERE started_at < :since", {{"since", since}});
  if (!since.empty()) connection.execute("DELETE FROM insights");  // they are based on more than is left
  delete_orphans(connection, tables);
  delete_unreferenced(connection, tables);
  delete_orphans(connection, tables);
  delete_stale(connection);
  const std::int64_t searches = select_integer(connection, "SELECT count(*) FROM searches").value_or(0);
  run(connection, "VACUUM INTO :file", {{"file", to.string()}});
  return searches;
}

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#include "db/merge/table_shape.h"

#include <algorithm>
#include <set>

#include "db/rows.h"

namespace ak::db {
namespace {

TableShape shape_of(Connection& connection, const std::string& name) {
  TableShape shape{.name = name, .columns = {}, .references = {}, .unique_keys = {}};
  shape.columns = select_texts(connection, "SELECT name FROM pragma_table_info(:table)", {{"table", name}});
  Rows key = select(connection,
                    "SELECT \"from\" AS \"column\", \"table\" AS target FROM pragma_foreign_key_list(:table)",
                    {{"table", name}});
  while (key.next()) shape.references[key.text("column")] = key.text("target");
  for (const std::string& index :
       select_texts(connection, "SELECT name FROM pragma_index_list(:table) WHERE \"unique\" AND NOT partial",
                    {{"table", name}})) {
    auto columns = select_texts(connection, "SELECT name FROM pragma_index_info(:index)", {{"index", index}});
    if (columns != std::vector<std::string>{"uid"}) shape.unique_keys.push_back(std::move(columns));
  }
  return shape;
}

}  // namespace

bool TableShape::has(const std::string& column) const {
  return std::ranges::find(columns, column) != columns.end();
}

std::vector<TableShape> tables_in_order(Connection& connection) {
  std::vector<TableShape> left, ordered;
  for (const std::string& name : select_texts(
           connection,
           "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE "
           "'insights_text%' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('scores', 'search_figures') "
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

}  // namespace ak::db

// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/board/board_page.h"

#include <fmt/format.h>

#include "board_page_files.h"
#include "serve/pages/html_document.h"
#include "serve/pages/page_html.h"
#include "serve/pages/quantity_text.h"

namespace ak::pages {
namespace {

db::Cell cell_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "yes" : "no");
  return std::monostate{};
}

/// A table of the members of each object, in percent where a column says so.
struct Column {
  std::string name, pointer;  ///< of the table; JSON pointer into the object
  double factor = 1;
};

db::Table table_of(const Json& list, const std::vector<Column>& columns) {
  db::Table table;
  for (const Column& column : columns) table.columns.push_back(column.name);
  for (const Json& object : list) {
    std::vector<db::Cell> row;
    for (const Column& column : columns) {
      const Json::json_pointer pointer(column.pointer);
      const Json value = object.contains(pointer) ? object.at(pointer) : Json();
      row.push_back(value.is_number() && column.factor != 1 ? db::Cell(column.factor * value.get<double>())
                                                            : cell_of(value));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

db::Table tiles_of(const Json& board) {
  db::Table table{.columns = {"label", "value", "note"}, .rows = {}};
  const auto add = [&](std::string label, std::string value, std::string note) {
    table.rows.push_back({std::move(label), std::move(value), std::move(note)});
  };
  add("tasks with a kernel", fmt::format("{} of {}", board["found"].dump(), board["tasks"].size()),
      board["device"].get<std::string>());
  for (const Json& row : board["fast_p"])
    if (row["p"] == 1.0)
      add(fmt::format("fast_1 over {}", row["baseline"].get<std::string>()),
          fmt::format("{:.0f} %", 100 * row["fast_p"].get<double>()),
          fmt::format("{} of {}; {} to {} by the intervals", row["fast"].dump(), row["tasks"].dump(),
                      row["least"].dump(), row["most"].dump()));
  add("time of search", quantity_text(board["spent_s"].get<double>(), "seconds"), "");
  if (!board["cost_usd"].is_null())
    add("cost of models", quantity_text(board["cost_usd"].get<double>(), "usd"), "");
  return table;
}

/// Tasks with a kernel, or those without one.
Json tasks_with(const Json& board, bool kernel) {
  Json list = Json::array();
  for (const Json& task : board["tasks"])
    if (task.contains("search") == kernel) list.push_back(task);
  return list;
}

std::vector<Column> kernel_columns() {
  std::vector<Column> columns{{"task", "/task"},
                              {"time_us", "/time_us"},
                              {"emulated_cost_us", "/cost_us"},
                              {"floor_us", "/floor_us"},
                              {"share_of_floor_pct", "/share_of_floor", 100}};
  for (const std::string baseline : {"eager", "compile"}) {
    const std::string at = "/speedups/" + baseline;
    columns.push_back({baseline + "_ratio", at + "/speedup"});
    columns.push_back({baseline + "_low_ratio", at + "/low"});
    columns.push_back({baseline + "_high_ratio", at + "/high"});
    columns.push_back({baseline + "_in_turns", at + "/in_turns"});
  }
  for (const Column& column :
       {Column{"by", "/by"}, Column{"cost_usd", "/cost_usd"}, Column{"judge", "/verdict/correct"},
        Column{"degenerate", "/degenerate"}, Column{"note", "/note"}, Column{"command", "/folder_command"}})
    columns.push_back(column);
  return columns;
}

}  // namespace

/// The page's own statements only name its tables: their rows come from the board.
std::string board_html(const Json& board) {
  const Page page = load_pages(board_page_files(), {}).front();
  Json question = Json::array({{{"question", board["question"]}}});
  PageData data;
  data["board"] = table_of(question, {{"question", "/question"}});
  data["tiles"] = tiles_of(board);
  data["fast"] = table_of(board["fast_p"], {{"baseline", "/baseline"},
                                            {"p", "/p"},
                                            {"tasks", "/tasks"},
                                            {"fast", "/fast"},
                                            {"fast_p_pct", "/fast_p", 100},
                                            {"at_least", "/least"},
                                            {"at_most", "/most"}});
  data["cells"] = table_of(
      board["cells"],
      {{"cell", "/cell"}, {"shapes", "/shapes"}, {"timed", "/timed"}, {"share_of_floor", "/share_of_floor"}});
  data["kernels"] = table_of(tasks_with(board, true), kernel_columns());
  data["others"] = table_of(tasks_with(board, false), {{"task", "/task"},
                                                       {"status", "/status"},
                                                       {"reason", "/reason"},
                                                       {"evaluations", "/evaluations"},
                                                       {"cost_usd", "/cost_usd"},
                                                       {"note", "/note"}});
  const std::string title = fmt::format("AlphaKernel on the board {}", board["board"].get<std::string>());
  return self_contained_document(
      title, fmt::format("<header><h1>{}</h1></header>\n<main id=\"main\">\n{}</main>", html_escape(title),
                         page_html(expand(page, data), {})));
}

}  // namespace ak::pages

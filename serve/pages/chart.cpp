// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/error.h"
#include "serve/pages/column.h"

namespace ak::pages {
namespace {

struct ChartKind {
  std::string_view name;
  std::vector<std::string_view> needed;    ///< columns
  std::vector<std::string_view> measured;  ///< of these, axes that show quantities: they need a unit
};

const std::array<ChartKind, 8>& kinds() {
  static const std::array<ChartKind, 8> list{ChartKind{"line", {"x", "y"}, {"x", "y"}},
                                             ChartKind{"scatter", {"x", "y"}, {"x", "y"}},
                                             ChartKind{"roofline", {"x", "y"}, {"x", "y"}},
                                             ChartKind{"bars", {"x", "y"}, {"x"}},
                                             ChartKind{"intervals", {"x", "y"}, {"x"}},
                                             ChartKind{"waterfall", {"x", "y"}, {"x"}},
                                             ChartKind{"heatmap", {"x", "y", "color"}, {"color"}},
                                             ChartKind{"tree", {"id", "parent", "label"}, {}}};
  return list;
}

constexpr std::array kColumnKeys =
    std::to_array<std::string_view>({"x", "y", "series", "facet", "color", "label", "low", "high", "limit",
                                     "tone", "id", "parent", "detail", "front"});
constexpr std::array<std::string_view, 10> kOtherKeys{"kind",    "title",   "data",    "roofs",  "x_label",
                                                      "y_label", "x_scale", "y_scale", "x_name", "y_name"};

bool known_key(std::string_view key) {
  return std::ranges::find(kColumnKeys, key) != kColumnKeys.end() ||
         std::ranges::find(kOtherKeys, key) != kOtherKeys.end() || key == "color_label" ||
         key == "color_scale";
}

// Beyond that a label in a picture is not read.
constexpr std::size_t kMaxLabelBytes = 200;

Json json_of(const db::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return harmless(*text, kMaxLabelBytes);
  return nullptr;
}

const db::Table& table_of(const PageData& data, const std::string& name) {
  const auto found = data.find(name);
  if (found == data.end()) fail(ExitCode::bad_input, "chart: '{}' is not a dataset of the page", name);
  return found->second;
}

std::size_t column_of(const db::Table& table, const std::string& name, std::string_view key) {
  const auto found = std::ranges::find(table.columns, name);
  if (found == table.columns.end())
    fail(ExitCode::bad_input, "chart: {} is '{}', expected one of {}", key, name,
         fmt::join(table.columns, ", "));
  return static_cast<std::size_t>(found - table.columns.begin());
}

/// A value on an axis of quantities: what is no number is not drawn.
Json quantity_of(const db::Cell& cell) {
  return std::holds_alternative<std::string>(cell) ? Json() : json_of(cell);
}

/// The columns of `table` with these names, as {"columns": [...], "rows": [[...], ...]}.
Json rows_of(const db::Table& table, const std::vector<std::string>& names,
             const std::set<std::string>& measured) {
  std::vector<std::size_t> indices;
  for (const std::string& name : names) indices.push_back(column_of(table, name, "column"));
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json& out = rows.emplace_back(Json::array());
    for (const std::size_t index : indices)
      out.push_back(measured.contains(table.columns[index]) ? quantity_of(row[index]) : json_of(row[index]));
  }
  return {{"columns", names}, {"rows", std::move(rows)}};
}

const ChartKind& kind_of(const Json& chart) {
  const std::string name = chart.value("kind", "");
  const auto found = std::ranges::find(kinds(), name, &ChartKind::name);
  if (found == kinds().end()) {
    std::vector<std::string_view> names;
    for (const ChartKind& kind : kinds()) names.push_back(kind.name);
    fail(ExitCode::bad_input, "chart: kind is '{}', expected {}", name, fmt::join(names, ", "));
  }
  return *found;
}

Json parse_specification(std::string_view text) {
  Json chart = try_parse_json(text);
  if (!chart.is_object()) fail(ExitCode::bad_input, "chart: expected a JSON object");
  for (const auto& [key, value] : chart.items())
    if (!known_key(key) || !value.is_string())
      fail(ExitCode::bad_input, "chart: '{}' is unknown or no text; expected {}, {}", key,
           fmt::join(kOtherKeys, ", "), fmt::join(kColumnKeys, ", "));
  if (chart.value("title", "").empty()) fail(ExitCode::bad_input, "chart: expected a title");
  return chart;
}

/// What the data themselves call an axis: the first value of the column that "x_name" or "y_name" names; else empty.
std::string name_in_data(const Json& chart, std::string_view key, const db::Table& table) {
  const auto column = chart.find(fmt::format("{}_name", key));
  if (column == chart.end()) return "";
  const std::size_t index = column_of(table, *column, key);
  const auto* text = table.rows.empty() ? nullptr : std::get_if<std::string>(&table.rows.front()[index]);
  return text == nullptr ? "" : harmless(*text, kMaxLabelBytes);
}

/// Every axis says what it shows, and quantities say their unit.
Json headings_of(const Json& chart, const ChartKind& kind, const db::Table& table) {
  Json headings = Json::object();
  for (const std::string_view key : kColumnKeys) {
    if (!chart.contains(key)) continue;
    const std::string column = chart.at(std::string(key)), named = name_in_data(chart, key, table),
                      label = named.empty() ? chart.value(fmt::format("{}_label", key), "") : named;
    headings[std::string(key)] = label.empty() ? column_heading(column) : label;
    const bool measured = std::ranges::find(kind.measured, key) != kind.measured.end();
    if (measured && label.empty() && column_unit(column).empty())
      fail(ExitCode::bad_input, "chart: the column '{}' of {} does not name a unit; expected {}_label",
           column, key, key);
  }
  return headings;
}

/// Columns of which only numbers are drawn.
std::set<std::string> quantities_of(const Json& chart, const ChartKind& kind) {
  std::set<std::string> columns;
  for (const std::string_view key : kind.measured) columns.insert(chart.at(std::string(key)));
  for (const char* bound : {"low", "high", "limit"})
    if (const auto found = chart.find(bound); found != chart.end()) columns.insert(*found);
  return columns;
}

}  // namespace

Json chart_of(std::string_view specification, const Page& page, const PageData& data) {
  Json chart = parse_specification(specification);
  const ChartKind& kind = kind_of(chart);
  for (const std::string_view key : kind.needed)
    if (!chart.contains(key)) fail(ExitCode::bad_input, "chart: a {} needs {}", kind.name, key);
  const std::string name = chart.value("data", "");
  const db::Table& table = table_of(data, name);
  std::vector<std::string> columns;
  for (const std::string_view key : kColumnKeys)
    if (const auto found = chart.find(key); found != chart.end()) {
      const std::string column = *found;
      static_cast<void>(column_of(table, column, key));
      if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
    }
  chart["headings"] = headings_of(chart, kind, table);
  if (table.rows.empty()) return nullptr;
  chart["caption"] = std::ranges::find(page.datasets, name, &Dataset::name)->caption;
  chart["truncated"] = table.truncated;
  chart.update(rows_of(table, columns, quantities_of(chart, kind)));
  if (const auto roofs = chart.find("roofs"); roofs != chart.end())
    chart["roofs"] = rows_of(table_of(data, *roofs), {"facet", "label", "peak_tflops", "peak_gbps"},
                             {"peak_tflops", "peak_gbps"});
  return chart;
}

}  // namespace ak::pages

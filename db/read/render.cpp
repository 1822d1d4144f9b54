// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/text/json.h"
#include "core/text/suggest.h"
#include "db/database.h"

namespace ak::db {
namespace {

std::string hex(const std::vector<unsigned char>& bytes) {
  std::string text = "x'";
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text + "'";
}

/// Plain text of a cell; NULL is empty. `digits` bounds a real's significant digits (0: shortest exact form).
std::string plain(const Cell& cell, int digits) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell))
    return digits > 0 ? fmt::format("{:.{}g}", *real, digits) : fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* blob = std::get_if<std::vector<unsigned char>>(&cell)) return hex(*blob);
  return "";
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

/// Text on one line: a cell may hold a compiler log or a hostile candidate's words.
std::string one_line(std::string text) {
  text = sanitize(text);
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

constexpr int kShownDigits = 6;            // enough to distinguish times, few enough to read
constexpr std::size_t kWidestColumn = 60;  // a message beyond it makes the table unreadable

/// Number of characters as a terminal shows them: bytes that do not continue a UTF-8 sequence.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut(std::string text) {
  if (width(text) <= kWidestColumn) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && shown++ == kWidestColumn - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::string pad(const std::string& text, std::size_t columns, bool right) {
  const std::string blanks(columns > width(text) ? columns - width(text) : 0, ' ');
  return right ? blanks + text : text + blanks;
}

std::string render_table(const Table& table) {
  std::vector<std::vector<std::string>> texts{table.columns};
  for (const auto& row : table.rows) {
    auto& line = texts.emplace_back();
    for (const Cell& cell : row) line.push_back(cut(one_line(plain(cell, kShownDigits))));
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& line : texts) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string out;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool right = r > 0 && is_number(table.rows[r - 1][i]);
      line += (i > 0 ? "  " : "") + pad(texts[r][i], widths[i], right);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (r == 0) {
      for (std::size_t i = 0; i < widths.size(); ++i)
        out += (i > 0 ? "  " : "") + std::string(widths[i], '-');
      out += "\n";
    }
  }
  return out;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string render_csv(const Table& table) {
  const auto line = [](const std::vector<std::string>& fields) {
    std::vector<std::string> quoted;
    for (const std::string& field : fields) quoted.push_back(csv_field(field));
    return fmt::format("{}\r\n", fmt::join(quoted, ","));
  };
  std::string out = line(table.columns);
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (const Cell& cell : row) fields.push_back(plain(cell, 0));
    out += line(fields);
  }
  return out;
}

Json json_cell(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (std::holds_alternative<std::monostate>(cell)) return nullptr;
  return plain(cell, 0);
}

/// Keys of an object must differ: a second column "n" is called "n_2".
std::vector<std::string> distinct(std::vector<std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
    for (int n = 2; std::find(names.begin(), end, names[i]) != end; ++n)
      names[i] = fmt::format("{}_{}", name, n);
  }
  return names;
}

/// Row by row: objects of all rows would take ten times the memory of the table.
std::string render_json(const Table& table) {
  const std::vector<std::string> keys = distinct(table.columns);
  std::string out = "[";
  for (const auto& row : table.rows) {
    Json rows = Json::array({Json::object()});
    for (std::size_t i = 0; i < row.size(); ++i) rows[0][keys[i]] = json_cell(row[i]);
    const std::string text = rows.dump(2, ' ', false, Json::error_handler_t::replace);
    out += out.size() > 1 ? "," : "";
    out.append(text, 1, text.size() - 3);  // without "[" and "\n]"
  }
  return out + (table.rows.empty() ? "]\n" : "\n]\n");
}

std::string render_markdown(const Table& table) {
  const auto line = [](const std::vector<std::string>& fields) {
    return fmt::format("| {} |\n", fmt::join(fields, " | "));
  };
  const auto escape = [](std::string text) {
    for (std::size_t i = text.find_first_of("|\\<"); i != std::string::npos;
         i = text.find_first_of("|\\<", i + 2))
      text.insert(i, "\\");
    return text;
  };
  std::vector<std::string> names, rule(table.columns.size(), "---");
  for (const std::string& column : table.columns) names.push_back(escape(column));
  std::string out = line(names) + line(rule);
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (const Cell& cell : row) fields.push_back(escape(one_line(plain(cell, kShownDigits))));
    out += line(fields);
  }
  return out;
}

}  // namespace

std::string render(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::table:
      return render_table(table);
    case TableFormat::csv:
      return render_csv(table);
    case TableFormat::json:
      return render_json(table);
    case TableFormat::markdown:
      return render_markdown(table);
  }
  AK_ASSERT(false, "every TableFormat is rendered");
  return "";
}

}  // namespace ak::db

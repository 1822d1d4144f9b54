// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/text/suggest.h"

namespace ak::codegen {
namespace {

constexpr std::size_t kWidest = 60;  // a column of a terminal's table; what is longer continues unaligned

using TableRow = std::vector<std::string>;

std::string plain(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`' || text.compare(i, 2, "**") == 0) {
      i += text[i] == '*' ? 1 : 0;
      continue;
    }
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '|') continue;
    result += text[i];
  }
  return result;
}

TableRow cells_of(const std::string& line) {
  TableRow cells;
  std::string current;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '|' || line[i - 1] == '\\') {
      current += line[i];
      continue;
    }
    const std::size_t first = current.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : plain(current.substr(first, current.find_last_not_of(' ') - first + 1)));
    current.clear();
  }
  return cells;
}

std::string aligned(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(row[i].size(), kWidest));
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : sanitize(text, 400)) {
    if (c == '|') result += '\\';
    result += c == '\n' || c == '\t' ? ' ' : c;
  }
  return result;
}

std::string markdown_code(const std::string& text) {
  std::string inside = markdown_cell(text);
  std::ranges::replace(inside, '`', '\'');
  return fmt::format("`{}`", inside);
}

std::string without_markdown(const std::string& page) {
  std::string text, line;
  std::vector<TableRow> table;
  std::istringstream lines(page + "\n");
  while (std::getline(lines, line)) {
    if (line.starts_with("|---")) continue;
    if (line.starts_with('|')) {
      table.push_back(cells_of(line));
      continue;
    }
    text += aligned(table);
    table.clear();
    if (line.starts_with("```")) continue;
    text += plain(line.starts_with('#') ? line.substr(line.find_first_not_of("# ")) : line) + "\n";
  }
  text.pop_back();
  return text;
}

}  // namespace ak::codegen

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "serve/pages/blocks/block.h"
#include "serve/pages/blocks/block_parts.h"

namespace ak::pages {
namespace {

struct NumberedLine {
  std::size_t number = 0;
  std::string_view text;
};

/// Writes a unified diff as the rows of a table: number and line before, number and line after.
class SidesWriter {
 public:
  std::string rows(std::string_view diff) {
    while (!diff.empty()) {
      const std::size_t end = std::min(diff.find('\n'), diff.size());
      take(diff.substr(0, end));
      diff.remove_prefix(std::min(end + 1, diff.size()));
    }
    flush();
    return std::move(out_);
  }

 private:
  void take(std::string_view line) {
    const char kind = line.empty() ? ' ' : line.front();
    const std::string_view text = line.substr(std::min<std::size_t>(1, line.size()));
    if (kind == '-') return removed_.push_back({before_++, text});
    if (kind == '+') return added_.push_back({after_++, text});
    flush();
    if (kind == ' ') {
      write({before_++, text}, {after_++, text}, "", "");
    } else {
      if (kind == '@') read_numbers(line);
      out_ += fmt::format("<tr class=\"hunk\"><td colspan=\"4\">{}</td></tr>\n", html_escape(line));
    }
  }

  /// "@@ -12 +14 @@": the numbers of the lines that follow.
  void read_numbers(std::string_view line) {
    for (const auto& [sign, number] : {std::pair{'-', &before_}, std::pair{'+', &after_}}) {
      const std::size_t at = std::min(line.find(sign), line.size() - 1) + 1;
      std::from_chars(line.data() + at, line.data() + line.size(), *number);
    }
  }

  /// What was removed is next to what was added in its place.
  void flush() {
    for (std::size_t i = 0; i < std::max(removed_.size(), added_.size()); ++i)
      write(i < removed_.size() ? removed_[i] : NumberedLine{},
            i < added_.size() ? added_[i] : NumberedLine{}, i < removed_.size() ? "del" : "",
            i < added_.size() ? "ins" : "");
    removed_.clear();
    added_.clear();
  }

  void write(NumberedLine before, NumberedLine after, std::string_view mark_before,
             std::string_view mark_after) {
    out_ += "<tr>" + cell(before, mark_before) + cell(after, mark_after) + "</tr>\n";
  }

  static std::string cell(NumberedLine line, std::string_view mark) {
    if (line.number == 0) return "<td class=\"none\"></td><td class=\"none\"></td>";
    const std::string text = html_escape(line.text);
    const std::string marked = mark.empty() ? text : fmt::format("<{0}>{1}</{0}>", mark, text);
    return fmt::format("<td class=\"at\">{}</td><td class=\"{}\"><code>{}</code></td>", line.number, mark,
                       marked);
  }

  std::size_t before_ = 1, after_ = 1;
  std::vector<NumberedLine> removed_, added_;
  std::string out_;
};

}  // namespace

std::string sides_html(const BlockPiece& piece, const HtmlOptions&) {
  const db::Table& table = *piece.tables.front();
  std::string out;
  for (const auto& row : table.rows) {
    const RowFields fields(table, row);
    const std::string title = html_escape(fields.text("title")), text = whole_text(fields, "text");
    if (text.empty()) continue;
    out += fmt::format(
        "<figure class=\"code sides\"><figcaption>{0}</figcaption><div class=\"pane\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"{0}\"><table><colgroup><col class=\"at\"><col><col "
        "class=\"at\"><col></colgroup><thead><tr><th scope=\"col\" colspan=\"2\">before</th>"
        "<th scope=\"col\" "
        "colspan=\"2\">after</th></tr></thead>\n<tbody>\n{1}</tbody></table></div></figure>\n",
        title, SidesWriter().rows(text));
  }
  return out;
}

}  // namespace ak::pages

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "serve/pages/blocks/block.h"
#include "serve/pages/blocks/block_parts.h"

namespace ak::pages {
namespace {

/// What is said of a line: the share of samples that were taken on it, and notes.
struct LineMarks {
  std::optional<double> share_pct;
  std::vector<std::string> notes;
};

std::map<int, LineMarks> marks_of(const BlockPiece& piece) {
  std::map<int, LineMarks> marks;
  if (piece.tables.size() < 2) return marks;
  for (const auto& row : piece.tables[1]->rows) {
    const RowFields fields(*piece.tables[1], row);
    const double line = number_of(fields, "line").value_or(0);
    if (!(line >= 1 && line < 1e6)) continue;  // of no line of this file
    LineMarks& mark = marks[static_cast<int>(line)];
    if (const auto share = number_of(fields, "share_pct"))
      mark.share_pct = mark.share_pct.value_or(0) + *share;
    if (std::string note = fields.text("note"); !note.empty()) mark.notes.push_back(std::move(note));
  }
  return marks;
}

/// Calls `use` with every line of `text` and its number from 1.
template <class Use>
void each_line(std::string_view text, Use use) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string share_html(const LineMarks& mark) {
  if (!mark.share_pct) return "";
  const double percent = std::clamp(*mark.share_pct, 0.0, 100.0);
  return fmt::format(
      "<span class=\"share\">{0:.1f} %<svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\"><rect width=\"{0:.1f}\" height=\"8\"/></svg></span>",
      percent);
}

std::string source_html(std::string_view text, const std::map<int, LineMarks>& marks) {
  static const LineMarks kNone;
  std::string out;
  each_line(text, [&](int number, std::string_view line) {
    const auto found = marks.find(number);
    const LineMarks& mark = found == marks.end() ? kNone : found->second;
    const std::string at =
        found == marks.end() ? fmt::format("{}", number) : fmt::format("<a href=\"#L{0}\">{0}</a>", number);
    out += fmt::format(
        "<tr id=\"L{0}\" data-line=\"{0}\"{1}><td class=\"at\">{2}</td><td class=\"samples\">{3}</td>"
        "<td><code>{4}</code>",
        number, found == marks.end() ? "" : " class=\"marked\"", at, share_html(mark), html_escape(line));
    for (const std::string& note : mark.notes)
      out += fmt::format("<span class=\"note\">{}</span>", html_escape(note));
    out += "</td></tr>\n";
  });
  return out;
}

/// The number that `text` begins with, behind blanks; 0 without one. Takes it away.
int take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? number : 0;
}

/// The instructions of PTX, each with the line of the file that it came from: `.loc 1 42 7` says so of those that
/// follow, and `.loc ..., inlined_at 1 50 3` where they were inlined.
class AssemblyWriter {
 public:
  std::string html(std::string_view text) {
    each_line(text, [this](int, std::string_view line) { take(line); });
    return std::move(out_);
  }

 private:
  void take(std::string_view line) {
    const std::size_t at = line.find_first_not_of(" \t");
    if (at == std::string_view::npos) return;
    if (line.substr(at).starts_with(".loc")) return locate(line.substr(at + 4));
    if (line.substr(at).starts_with(".entry") || line.substr(at).starts_with(".visible")) line_ = 0;
    const std::string escaped = html_escape(line);
    out_ += line_ == 0 ? escaped + '\n' : fmt::format("<span data-line=\"{}\">{}</span>\n", line_, escaped);
  }

  /// Files are numbered, and the candidate's own is the first that instructions come from; where these were inlined, the
  /// first that they were inlined into.
  void locate(std::string_view location) {
    constexpr std::string_view kInlined = "inlined_at";
    const std::string_view whole = location;
    const std::size_t inlined = whole.find(kInlined);
    int file = take_number(location);
    line_ = take_number(location);
    if (file_ == 0 && inlined == std::string_view::npos) file_ = file;
    if (file == file_ || inlined == std::string_view::npos) {
      if (file != file_) line_ = 0;
      return;
    }
    std::string_view outer = whole.substr(inlined + kInlined.size());
    file = take_number(outer);
    if (file_ == 0) file_ = file;
    line_ = file == file_ ? take_number(outer) : 0;
  }

  int file_ = 0, line_ = 0;
  std::string out_;
};

std::string assembly_html(const BlockPiece& piece) {
  if (piece.tables.size() < 3 || piece.tables[2]->rows.empty()) return "";
  const RowFields fields(*piece.tables[2], piece.tables[2]->rows.front());
  const std::string title = html_escape(fields.text("title"));
  return fmt::format(
      "<figure class=\"code assembly\"><figcaption>{0}</figcaption><pre class=\"pane\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"{0}\"><code>{1}</code></pre></figure>\n",
      title, AssemblyWriter().html(whole_text(fields, "text")));
}

}  // namespace

std::string listing_html(const BlockPiece& piece, const HtmlOptions&) {
  const RowFields fields(*piece.tables.front(), piece.tables.front()->rows.front());
  const std::string assembly = assembly_html(piece), title = html_escape(fields.text("title"));
  return fmt::format(
      "<div class=\"beside{0}\"><figure class=\"code listing\"><figcaption>{1}</figcaption><div "
      "class=\"pane\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"{1}\"><table><thead class=\"unseen\"><tr><th "
      "scope=\"col\">line</th><th scope=\"col\">samples</th><th "
      "scope=\"col\">source</th></tr></thead>\n<tbody>\n{2}</tbody></table></div></figure>\n{3}</div>\n",
      assembly.empty() ? "" : " two", title, source_html(whole_text(fields, "text"), marks_of(piece)),
      assembly);
}

}  // namespace ak::pages

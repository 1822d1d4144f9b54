// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "serve/pages/blocks/block.h"
#include "serve/pages/chart.h"
#include "serve/pages/column.h"

namespace ak::pages {
namespace {

// A value in a sentence; whole texts are for {{code}}.
constexpr std::size_t kMaxValueBytes = 2'000;

struct Tag {
  char kind = '.';  ///< '#', '?', '^', '/', 'c' for chart, '.' for a value or a block
  std::string body;
};

/// Walks through a page's text and writes its pieces.
class Expansion {
 public:
  Expansion(const Page& page, const PageData& data, Escape escape)
      : page_(page), data_(data), escape_(escape) {}

  std::vector<Piece> pieces() {
    range(0, "", nullptr, 0, true);
    return std::move(pieces_);
  }

 private:
  using Row = std::vector<db::Cell>;

  template <class... T>
  [[noreturn]] void reject(std::size_t at, fmt::format_string<T...> text, T&&... values) const {
    const auto line =
        1 + std::count(page_.text.begin(), page_.text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    fail(ExitCode::bad_input, "page {}, line {}: {}", page_.name, line,
         fmt::format(text, std::forward<T>(values)...));
  }

  /// Expands from `at` to the end tag of `open`; returns the place behind it. With `show` off
  /// nothing is written.
  std::size_t range(std::size_t at, const std::string& open, const db::Table* table, std::size_t row,
                    bool show) {
    const std::size_t begin = at;
    while (at < page_.text.size()) {
      std::size_t tag_at = 0, tag_end = 0;
      const Tag tag = next_tag(at, tag_at, tag_end);
      if (show) write(std::string_view(page_.text).substr(at, tag_at - at));
      if (tag_at == page_.text.size()) break;
      at = tag_end;
      if (tag.kind == '/') {
        if (tag.body != open) reject(tag_at, "{{{{/{}}}}} closes nothing; open is '{}'", tag.body, open);
        return at;
      }
      if (tag.kind == '#' || tag.kind == '?' || tag.kind == '^')
        at = group(tag, tag_at, at, show);
      else if (tag.kind == 'c') {
        if (show) chart(tag, tag_at);
      } else if (show) {
        single(tag, tag_at, table, row);
      }
    }
    if (!open.empty()) reject(begin, "'{}' is not closed; expected {{{{/{}}}}}", open, open);
    return at;
  }

  std::size_t group(const Tag& tag, std::size_t tag_at, std::size_t at, bool show) {
    const db::Table& rows = dataset(tag.body, tag_at);
    const std::size_t times = tag.kind == '#'                           ? rows.rows.size()
                              : (tag.kind == '?') == !rows.rows.empty() ? 1
                                                                        : 0;
    if (times == 0 || !show) return range(at, tag.body, &rows, 0, false);
    std::size_t end = at;
    for (std::size_t i = 0; i < times; ++i) end = range(at, tag.body, &rows, i, true);
    return end;
  }

  /// The next tag from `at`: where it begins and ends, with its line when it is alone on it.
  Tag next_tag(std::size_t at, std::size_t& begin, std::size_t& end) const {
    const std::string& text = page_.text;
    const std::size_t braces = std::min(text.find("{{", at), text.size());
    const std::size_t fence = next_chart(at);
    if (fence < braces) {
      const std::size_t body = text.find('\n', fence), close = text.find("\n```", body);
      if (body == std::string::npos || close == std::string::npos)
        reject(fence, "the chart is not closed; expected ```");
      begin = fence;
      end = std::min(text.find('\n', close + 1), text.size() - 1) + 1;
      return {'c', text.substr(body + 1, close - body - 1)};
    }
    begin = end = text.size();
    if (braces == text.size()) return {};
    const std::size_t close = text.find("}}", braces);
    if (close == std::string::npos) reject(braces, "'{{{{' without '}}}}'");
    begin = braces;
    end = close + 2;
    std::string body = text.substr(braces + 2, close - braces - 2);
    Tag tag;
    if (!body.empty() && std::string_view("#?^/").find(body[0]) != std::string_view::npos) {
      tag.kind = body[0];
      body.erase(0, 1);
      skip_line(begin, end, at);
    } else if (body.find(' ') != std::string::npos || body == "form") {
      skip_line(begin, end, at);
    }
    tag.body = std::move(body);
    return tag;
  }

  /// Where the next fence of a chart begins, at the start of a line; the end of the text without one.
  std::size_t next_chart(std::size_t at) const {
    for (std::size_t fence = page_.text.find("```chart", at); fence != std::string::npos;
         fence = page_.text.find("```chart", fence + 1))
      if (fence == 0 || page_.text[fence - 1] == '\n') return fence;
    return page_.text.size();
  }

  /// Takes the rest of the line in where the tag is alone on it.
  void skip_line(std::size_t& begin, std::size_t& end, std::size_t at) const {
    const std::string& text = page_.text;
    const bool starts = begin == 0 || text[begin - 1] == '\n';
    if (starts && begin >= at && end < text.size() && text[end] == '\n') ++end;
  }

  const db::Table& dataset(const std::string& name, std::size_t at) const {
    const auto found = data_.find(name);
    if (found == data_.end()) reject(at, "'{}' is not a dataset of the page (-- @{} in its SQL)", name, name);
    return found->second;
  }

  std::size_t column(const db::Table& table, std::string_view name, std::size_t at) const {
    const auto found = std::ranges::find(table.columns, name);
    if (found == table.columns.end())
      reject(at, "'{}' is not a column here; expected one of {}", name, fmt::join(table.columns, ", "));
    return static_cast<std::size_t>(found - table.columns.begin());
  }

  void single(const Tag& tag, std::size_t at, const db::Table* table, std::size_t row) {
    const std::size_t blank = tag.body.find(' ');
    if (tag.body == "form") {
      pieces_.emplace_back(form());
    } else if (blank != std::string::npos) {
      block(tag.body.substr(0, blank), tag.body.substr(blank + 1), at);
    } else {
      value(tag.body, at, table, row);
    }
  }

  void value(const std::string& name, std::size_t at, const db::Table* table, std::size_t row) {
    const std::size_t dot = name.find('.');
    std::string column_name = name;
    if (dot != std::string::npos) {
      table = &dataset(name.substr(0, dot), at);
      column_name = name.substr(dot + 1);
      row = 0;
    }
    if (!table) reject(at, "'{}' is outside of a {{{{#dataset}}}}; expected dataset.column", name);
    const std::size_t index = column(*table, column_name, at);
    if (row >= table->rows.size()) return;
    write(escape_(harmless(shown(table->rows[row][index], column_name), kMaxValueBytes)));
  }

  static std::string block_names() {
    std::vector<std::string_view> names;
    for (const BlockKind& kind : block_kinds()) names.push_back(kind.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  FormPiece form() const {
    FormPiece piece;
    for (const db::QueryParameter& parameter : page_.parameters)
      if (const auto choices = data_.find(parameter.name); !parameter.required && choices != data_.end())
        piece.choices.emplace(parameter.name, &choices->second);
    return piece;
  }

  /// A block of its own kind takes one dataset or more; nothing is shown where the first has no rows.
  void special_block(const BlockKind& kind, std::string_view names, std::size_t at) {
    BlockPiece piece{.kind = std::string(kind.name), .caption = "", .tables = {}};
    while (!names.empty()) {
      const std::string name(names.substr(0, names.find(' ')));
      names.remove_prefix(std::min(name.size() + 1, names.size()));
      if (piece.tables.size() == kind.needed.size())
        reject(at, "'{}' takes {} datasets at most", kind.name, kind.needed.size());
      const db::Table& table = dataset(name, at);
      for (const std::string_view needed : kind.needed[piece.tables.size()])
        static_cast<void>(column(table, needed, at));
      if (piece.tables.empty()) piece.caption = caption_of(name);
      piece.tables.push_back(&table);
    }
    if (!piece.tables.empty() && !piece.tables.front()->rows.empty()) pieces_.emplace_back(std::move(piece));
  }

  void block(const std::string& kind, const std::string& name, std::size_t at) {
    if (const BlockKind* special = find_block(kind)) return special_block(*special, name, at);
    if (kind == "fold") return fold(name, at);
    const db::Table& table = dataset(name, at);
    if (kind == "table") {
      if (!table.rows.empty()) pieces_.emplace_back(TablePiece{caption_of(name), &table});
    } else if (kind == "tiles") {
      static_cast<void>(column(table, "label", at) + column(table, "value", at));
      if (!table.rows.empty()) pieces_.emplace_back(TilesPiece{&table});
    } else if (kind == "cards") {
      static_cast<void>(column(table, "title", at));
      if (!table.rows.empty()) pieces_.emplace_back(CardsPiece{&table});
    } else if (kind == "code" || kind == "diff") {
      const std::size_t title = column(table, "title", at), text = column(table, "text", at);
      for (const Row& row : table.rows)
        pieces_.emplace_back(CodePiece{harmless(shown(row[title], "title"), kMaxValueBytes),
                                       harmless(shown(row[text], "text"), kMaxCodeBytes), kind == "diff"});
    } else {
      reject(at, "'{}' is not a block; expected table, tiles, cards, fold, code, diff or form, or one of {}",
             kind, block_names());
    }
  }

  std::string caption_of(const std::string& name) const {
    return std::ranges::find(page_.datasets, name, &Dataset::name)->caption;
  }

  /// "dataset" or "dataset column".
  void fold(const std::string& body, std::size_t at) {
    const std::size_t blank = body.find(' ');
    const std::string name = body.substr(0, blank);
    const db::Table& table = dataset(name, at);
    if (table.rows.empty()) return;
    const std::string caption = caption_of(name);
    if (blank == std::string::npos) {
      pieces_.emplace_back(FoldPiece{caption, caption, table});
      return;
    }
    const std::size_t by = column(table, body.substr(blank + 1), at);
    for (FoldPiece& piece : folds_of(table, by, caption)) pieces_.emplace_back(std::move(piece));
  }

  /// A table for each value of the column `by`, without it, in the order in which the values come.
  static std::vector<FoldPiece> folds_of(const db::Table& table, std::size_t by, const std::string& caption) {
    std::vector<FoldPiece> folds;
    for (const Row& row : table.rows) {
      const std::string summary = harmless(shown(row[by], table.columns[by]), kMaxValueBytes);
      auto fold = std::ranges::find(folds, summary, &FoldPiece::summary);
      if (fold == folds.end()) fold = folds.insert(fold, FoldPiece{summary, caption, {table.columns, {}}});
      fold->rows.rows.push_back(row);
    }
    for (FoldPiece& fold : folds) drop_column(fold.rows, by);
    if (!folds.empty()) folds.back().rows.truncated = table.truncated;
    return folds;
  }

  static void drop_column(db::Table& table, std::size_t index) {
    const auto place = static_cast<std::ptrdiff_t>(index);
    table.columns.erase(table.columns.begin() + place);
    for (Row& row : table.rows) row.erase(row.begin() + place);
  }

  void chart(const Tag& tag, std::size_t at) {
    try {
      Json chart = chart_of(tag.body, page_, data_);
      if (!chart.is_null()) pieces_.emplace_back(ChartPiece{std::move(chart)});
    } catch (const Error& error) {
      reject(at, "{}", error.what());
    }
  }

  void write(std::string_view markdown) {
    if (pieces_.empty() || !std::holds_alternative<TextPiece>(pieces_.back()))
      pieces_.emplace_back(TextPiece{});
    std::get<TextPiece>(pieces_.back()).markdown += markdown;
  }

  const Page& page_;
  const PageData& data_;
  Escape escape_;
  std::vector<Piece> pieces_;
};

bool part_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80) != 0;
}

}  // namespace

std::vector<Piece> expand(const Page& page, const PageData& data, Escape escape) {
  return Expansion(page, data, escape).pieces();
}

std::string markdown_escape(std::string_view text) {
  constexpr std::string_view kAlways = "\\`*[]<>&|~#!$";
  constexpr std::string_view kAtStart = "-+=:.)";  // lists, rules, headings, also behind a number
  std::string out;
  bool at_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool in_word =
        i > 0 && i + 1 < text.size() && part_of_word(text[i - 1]) && part_of_word(text[i + 1]);
    const bool special = kAlways.find(c) != std::string_view::npos || (c == '_' && !in_word) ||
                         (at_start && kAtStart.find(c) != std::string_view::npos && !in_word);
    if (special) out += '\\';
    out += c == '\n' || c == '\t' ? ' ' : c;
    at_start = at_start && (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == ' ');
  }
  return out;
}

}  // namespace ak::pages

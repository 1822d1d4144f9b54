// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "serve/pages/blocks/block.h"
#include "serve/pages/blocks/block_parts.h"

namespace ak::pages {
namespace {

constexpr std::array<std::string_view, 3> kMessageColumns{"title", "text", "status"};
constexpr std::string_view kFence = "```";

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\n") == std::string_view::npos; }

std::string prose_html(std::string_view text) {
  return is_blank(text) ? "" : fmt::format("<p class=\"prose\">{}</p>\n", html_escape(text));
}

std::string code_html(std::string_view language, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return fmt::format(
      "<details><summary>{}, {} line{}</summary><pre tabindex=\"0\"><code>{}</code></pre></details>\n",
      language.empty() ? "code" : html_escape(language), lines, lines == 1 ? "" : "s", html_escape(text));
}

/// Where the next line that begins with ``` is; the end of the text without one.
std::size_t next_fence(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kFence, from); at != std::string_view::npos; at = text.find(kFence, at + 1))
    if (at == 0 || text[at - 1] == '\n') return at;
  return text.size();
}

/// Prose as paragraphs, what is between ``` lines folded away.
std::string message_html(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = next_fence(text, at);
    out += prose_html(text.substr(at, open - at));
    if (open == text.size()) break;
    const std::size_t begin = std::min(text.find('\n', open), text.size() - 1) + 1;
    const std::size_t close = next_fence(text, begin);
    const std::size_t language = open + kFence.size();
    out += code_html(text.substr(language, begin - std::min(begin, language + 1)),
                     text.substr(begin, close - begin));
    at = close == text.size() ? close : std::min(text.find('\n', close), text.size() - 1) + 1;
  }
  return out;
}

}  // namespace

std::string transcript_html(const BlockPiece& piece, const HtmlOptions& options) {
  const db::Table& table = *piece.tables.front();
  std::string out = fmt::format("<div class=\"transcript\" role=\"group\" aria-label=\"{}\">\n",
                                html_escape(piece.caption));
  for (const auto& row : table.rows) {
    const RowFields fields(table, row);
    out += fmt::format("<article class=\"message\"><h3>{}{}</h3>\n<p class=\"facts\">{}</p>\n{}</article>\n",
                       badge_html(fields), html_escape(fields.text("title")),
                       facts_html(table, row, kMessageColumns, options.linked),
                       message_html(whole_text(fields, "text")));
  }
  return out + "</div>\n";
}

}  // namespace ak::pages

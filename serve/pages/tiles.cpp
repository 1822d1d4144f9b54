// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/tiles.h"

#include <fmt/format.h>

#include "serve/pages/cell_html.h"
#include "serve/pages/page_text.h"
#include "serve/pages/row_fields.h"
#include "serve/pages/sparkline.h"

namespace ak::pages {

std::string tiles_html(const db::Table& rows) {
  std::string out = "<ul class=\"tiles\">\n";
  for (const auto& row : rows.rows) {
    const RowFields fields(rows, row);
    const std::string note = fields.text("note");
    out += fmt::format("<li class=\"tile {}\"><span class=\"label\">{}</span> <strong>{}</strong>",
                       fields.tone(), html_escape(fields.text("label")), html_escape(fields.text("value")));
    if (!note.empty()) out += fmt::format(" <span class=\"note\">{}</span>", breakable(html_escape(note)));
    if (const auto* history = std::get_if<std::string>(&fields["history"])) out += sparkline_svg(*history);
    out += "</li>\n";
  }
  return out + "</ul>\n";
}

std::string tiles_markdown(const db::Table& rows) {
  std::string out = "\n";
  for (const auto& row : rows.rows) {
    const RowFields fields(rows, row);
    const std::string note = fields.text("note");
    out +=
        fmt::format("- {}: **{}**{}{}\n", markdown_escape(fields.text("label")),
                    markdown_escape(fields.text("value")), note.empty() ? "" : ", ", markdown_escape(note));
  }
  return out + "\n";
}

}  // namespace ak::pages

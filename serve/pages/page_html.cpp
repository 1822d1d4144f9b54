// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/page_html.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "core/error.h"
#include "serve/pages/blocks/block.h"
#include "serve/pages/cards.h"
#include "serve/pages/column.h"
#include "serve/pages/quantity_text.h"
#include "serve/pages/sparkline.h"
#include "serve/pages/tiles.h"

namespace ak::pages {
namespace {

struct ParserDeleter {
  void operator()(cmark_parser* parser) const noexcept { cmark_parser_free(parser); }
};
struct NodeDeleter {
  void operator()(cmark_node* node) const noexcept { cmark_node_free(node); }
};
struct TextDeleter {
  void operator()(char* text) const noexcept { cmark_get_default_mem_allocator()->free(text); }
};

std::string markdown_html(const std::string& markdown) {
  static std::once_flag registered;
  std::call_once(registered, cmark_gfm_core_extensions_ensure_registered);
  constexpr int kOptions = CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8;  // safe is the default: no raw HTML
  const std::unique_ptr<cmark_parser, ParserDeleter> parser(cmark_parser_new(kOptions));
  cmark_syntax_extension* table = cmark_find_syntax_extension("table");
  AK_ASSERT(table != nullptr, "cmark-gfm has its table extension");
  cmark_parser_attach_syntax_extension(parser.get(), table);
  cmark_parser_feed(parser.get(), markdown.data(), markdown.size());
  const std::unique_ptr<cmark_node, NodeDeleter> document(cmark_parser_finish(parser.get()));
  const std::unique_ptr<char, TextDeleter> html(
      cmark_render_html(document.get(), kOptions, cmark_parser_get_syntax_extensions(parser.get())));
  return html.get();
}

class HtmlWriter {
 public:
  explicit HtmlWriter(const HtmlOptions& options) : options_(options) {}

  std::string operator()(const TextPiece& piece) const { return markdown_html(piece.markdown); }

  std::string operator()(const TablePiece& piece) const { return table(piece.caption, *piece.rows); }

  std::string operator()(const TilesPiece& piece) const { return tiles_html(*piece.rows); }

  std::string operator()(const CardsPiece& piece) const { return cards_html(*piece.rows, options_.linked); }

  std::string operator()(const FoldPiece& piece) const {
    return fmt::format(
        "<details class=\"fold\"><summary>{} <span class=\"note\">({} {})</span></summary>\n{}</details>\n",
        html_escape(piece.summary), count_text(static_cast<std::int64_t>(piece.rows.rows.size())),
        piece.rows.rows.size() == 1 ? "row" : "rows", table(piece.caption, piece.rows));
  }

  std::string operator()(const CodePiece& piece) const {
    const std::string title = html_escape(piece.title);
    return fmt::format(
        "<figure class=\"code\"><figcaption>{0}</figcaption><pre tabindex=\"0\" "
        "role=\"region\" aria-label=\"{0}\"><code>{1}</code></pre></figure>\n",
        title, piece.diff ? diff_lines(piece.text) : html_escape(piece.text));
  }

  /// charts.js draws into the figure what the script element, which is data, describes.
  std::string operator()(const ChartPiece& piece) const {
    std::string data;
    for (const char c : piece.chart.dump(-1, ' ', true, Json::error_handler_t::replace))
      data += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
    return fmt::format(
        "<figure class=\"chart\"><figcaption>{}</figcaption><script "
        "type=\"application/json\">{}</script></figure>\n",
        html_escape(std::string(piece.chart.at("title"))), data);
  }

  std::string operator()(const BlockPiece& piece) const {
    const BlockKind* kind = find_block(piece.kind);
    AK_ASSERT(kind != nullptr, "expand() makes blocks of known kinds only");
    return kind->html(piece, options_);
  }

  std::string operator()(const FormPiece& piece) const {
    std::string out = "<form method=\"get\" role=\"search\">";
    for (const db::QueryParameter& parameter : options_.parameters) {
      const auto value = options_.values->find(parameter.name);
      const std::string given = value == options_.values->end() ? "" : plain_text(value->second);
      const auto choices = piece.choices.find(parameter.name);
      if (parameter.required)
        out += fmt::format("<input type=\"hidden\" name=\"{}\" value=\"{}\">", html_escape(parameter.name),
                           html_escape(given));
      else if (choices != piece.choices.end())
        out += selection(parameter, *choices->second, given);
      else
        out += fmt::format("<label>{} <input name=\"{}\" type=\"{}\" value=\"{}\"></label>",
                           html_escape(parameter.help), html_escape(parameter.name),
                           parameter.type == db::QueryParameter::Type::integer ? "number" : "search",
                           html_escape(given));
    }
    return out + "<button>Show</button></form>\n";
  }

 private:
  /// A list to choose from, with what is given. A value that would disturb a reader is left out: changed, it
  /// would be another.
  static std::string selection(const db::QueryParameter& parameter, const db::Table& choices,
                               const std::string& given) {
    std::set<std::string> values{given};
    for (const auto& row : choices.rows) values.insert(plain_text(row.front()));
    std::erase_if(values,
                  [](const auto& value) { return value.empty() || harmless(value, kMaxCellBytes) != value; });
    std::string options = "<option value=\"\"></option>";
    for (const std::string& value : values)
      options += fmt::format("<option value=\"{}\"{}>{}</option>", html_escape(value),
                             value == given ? " selected" : "", html_escape(value));
    return fmt::format("<label>{} <select name=\"{}\">{}</select></label>", html_escape(parameter.help),
                       html_escape(parameter.name), options);
  }

  /// folding.js hides the columns that do not fit, from the right: SQL puts what matters most on the left.
  std::string table(const std::string& caption, const db::Table& table) const {
    std::string out =
        fmt::format("<div class=\"table\"><table><caption>{}</caption>\n<thead><tr>", html_escape(caption));
    const std::vector<std::size_t> columns = filled_columns(table);
    for (const std::size_t i : columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", is_numeric(table, i) ? " class=\"number\"" : "",
                         html_escape(table_heading(table.columns[i])));
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      out += "<tr>";
      for (const std::size_t i : columns) out += cell(row[i], table.columns[i], is_numeric(table, i));
      out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    if (table.truncated)
      out += fmt::format("<p class=\"note\">The first {} rows are shown.</p>\n", table.rows.size());
    return out;
  }

  /// Numbers are flush right; short texts and names stay on one line.
  std::string cell(const db::Cell& value, const std::string& column, bool numeric) const {
    const auto* text = std::get_if<std::string>(&value);
    const bool is_long = text != nullptr && !holds_history(column) && !stays_on_one_line(*text);
    return fmt::format("<td{} data-label=\"{}\">{}</td>",
                       numeric   ? " class=\"number\""
                       : is_long ? ""
                                 : " class=\"short\"",
                       html_escape(table_heading(column)), cell_html(value, column, options_.linked));
  }

  static bool stays_on_one_line(std::string_view text) {
    constexpr std::size_t kShortBytes = 32, kNameBytes = 48;  // a name that is broken is hard to read
    return text.size() <= (text.find(' ') == std::string_view::npos ? kNameBytes : kShortBytes);
  }

  static std::string diff_lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      const std::string_view kind = line.starts_with('+')   ? "ins"
                                    : line.starts_with('-') ? "del"
                                    : line.starts_with('@') ? "b"
                                                            : "";
      out += kind.empty() ? html_escape(line) : fmt::format("<{0}>{1}</{0}>", kind, html_escape(line));
      out += '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

  const HtmlOptions& options_;
};

}  // namespace

std::string page_html(std::span<const Piece> pieces, const HtmlOptions& options) {
  const HtmlWriter writer(options);
  std::string out;
  for (const Piece& piece : pieces) out += std::visit(writer, piece);
  return out;
}

}  // namespace ak::pages

// SPDX-License-Identifier: Apache-2.0
#include "pages/page_html.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "pages/column.h"

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

/// A value of a query string.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::string plain_text(const db::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "";
}

class HtmlWriter {
 public:
  explicit HtmlWriter(const HtmlOptions& options) : options_(options) {}

  std::string operator()(const TextPiece& piece) const { return markdown_html(piece.markdown); }

  /// A separate region, so that a wide table scrolls inside of it and the keyboard can reach it.
  std::string operator()(const TablePiece& piece) const {
    const db::Table& table = *piece.rows;
    std::string out = fmt::format(
        "<div class=\"table\" role=\"region\" tabindex=\"0\" "
        "aria-label=\"{0}\"><table><caption>{0}</caption>\n<thead><tr>",
        html_escape(piece.caption));
    const std::vector<std::size_t> columns = filled_columns(table);
    for (const std::size_t i : columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", cell_class(is_numeric(table, i), ""),
                         html_escape(column_heading(table.columns[i])));
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

  std::string operator()(const FormPiece&) const {
    std::string out = "<form method=\"get\" role=\"search\">";
    for (const db::QueryParameter& parameter : options_.parameters) {
      const auto value = options_.values->find(parameter.name);
      const std::string given = value == options_.values->end() ? "" : plain_text(value->second);
      out += fmt::format("<label>{} <input name=\"{}\" type=\"{}\" value=\"{}\"></label>",
                         html_escape(parameter.help), html_escape(parameter.name),
                         parameter.type == db::QueryParameter::Type::integer ? "number" : "search",
                         html_escape(given));
    }
    return out + "<button>Show</button></form>\n";
  }

 private:
  /// Numbers are flush right; short texts stay on one line.
  static std::string_view cell_class(bool numeric, std::string_view text) {
    constexpr std::size_t kShortBytes = 40;
    return numeric ? " class=\"number\"" : text.size() <= kShortBytes ? " class=\"short\"" : "";
  }

  std::string cell(const db::Cell& value, const std::string& column, bool numeric) const {
    const std::string text = html_escape(harmless(shown(value, column), kMaxCellBytes));
    const std::string_view kind = cell_class(numeric, text);
    if (std::holds_alternative<std::monostate>(value) || !options_.linked.contains(column))
      return fmt::format("<td{} data-label=\"{}\">{}</td>", kind, html_escape(column_heading(column)), text);
    return fmt::format("<td{} data-label=\"{}\"><a href=\"{}?{}={}\">{}</a></td>", kind,
                       html_escape(column_heading(column)), column, column,
                       percent_encoded(plain_text(value)), text);
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

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string page_html(std::span<const Piece> pieces, const HtmlOptions& options) {
  const HtmlWriter writer(options);
  std::string out;
  for (const Piece& piece : pieces) out += std::visit(writer, piece);
  return out;
}

}  // namespace ak::pages

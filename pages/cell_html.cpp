// SPDX-License-Identifier: Apache-2.0
#include "pages/cell_html.h"

#include <fmt/format.h>

#include "pages/column.h"
#include "pages/page_text.h"
#include "pages/sparkline.h"
#include "pages/status_tone.h"

namespace ak::pages {
namespace {

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

}  // namespace

std::string plain_text(const db::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "";
}

std::string cell_html(const db::Cell& value, const std::string& column, const LinkedColumns& linked) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (holds_history(column)) return sparkline_svg(*text);
    const std::string_view tone = holds_status(column) ? status_tone(*text) : "";
    if (column == "command")
      return fmt::format("<code>{}</code>", html_escape(harmless(*text, kMaxCellBytes)));
    if (!tone.empty()) return fmt::format("<span class=\"badge {}\">{}</span>", tone, html_escape(*text));
  }
  const std::string text = html_escape(harmless(shown(value, column), kMaxCellBytes));
  if (std::holds_alternative<std::monostate>(value) || !linked.contains(column)) return text;
  return fmt::format("<a href=\"{}?{}={}\">{}</a>", column, column, percent_encoded(plain_text(value)), text);
}

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

}  // namespace ak::pages

// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/cell_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/pages/column.h"
#include "serve/pages/page_text.h"
#include "serve/pages/sparkline.h"
#include "serve/pages/status_tone.h"

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

/// A command is broken between its words, and not at the hyphens of a flag.
std::string command_html(std::string_view escaped) {
  std::string out = "<code><span class=\"word\">";
  for (const char c : escaped) out += c == ' ' ? "</span> <span class=\"word\">" : std::string(1, c);
  return out + "</span></code>";
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
    if (column == "command") return command_html(html_escape(harmless(*text, kMaxCellBytes)));
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

std::string breakable(std::string_view html) {
  constexpr std::size_t kLongName = 24;  // a shorter one has room on a line of a card
  std::string out;
  bool tag = false;
  while (!html.empty()) {
    const std::size_t length = std::max<std::size_t>(1, std::min(html.find_first_of(" <>"), html.size()));
    const std::string_view word = html.substr(0, length);
    html.remove_prefix(length);
    tag = word == "<" || (tag && word != ">");
    for (const char c : word) {
      out += c;
      if (!tag && length > kLongName && (c == '_' || c == '/')) out += "<wbr>";
    }
  }
  return out;
}

}  // namespace ak::pages

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "serve/pages/page_text.h"
#include "serve/pages/report/report.h"

namespace ak::pages {
namespace {

/// A value for a chat: one line, and nothing that Slack, Teams or Discord would take for a link, a mention or code.
std::string chat_text(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '<'                 ? "‹"
           : c == '>'               ? "›"
           : c == '@'               ? "＠"
           : c == '`'               ? "'"
           : c == '\n' || c == '\t' ? " "
                                    : std::string(1, c);
  return out;
}

}  // namespace

std::string report_brief_text(const Report& report) {
  std::string out = fmt::format("AlphaKernel, {}\n", report.period.title);
  for (const Piece& piece : expand(report.brief.page, report.brief.data, chat_text))
    if (const auto* text = std::get_if<TextPiece>(&piece)) out += text->markdown;
  return out;
}

}  // namespace ak::pages

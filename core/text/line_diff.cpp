// SPDX-License-Identifier: Apache-2.0
#include "core/text/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ak {
namespace {

constexpr std::size_t kContext = 2;  // lines around a change
constexpr std::size_t kMaxCells =
    4'000'000;  // of the table: two files of 2,000 lines that have nothing in common

struct Edit {
  char kind;  ///< ' ' kept, '-' only before, '+' only after
  std::string_view line;
  std::size_t before, after;  ///< lines that precede it, of each text
};

/// The longest common subsequence of the lines, by its table of lengths. Texts too long for the table are
/// replaced as a whole.
std::vector<Edit> edits_of(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  const std::size_t width = b.size() + 1;
  const bool fits = (a.size() + 1) * width <= kMaxCells;
  std::vector<std::uint32_t> longest(fits ? (a.size() + 1) * width : 0);
  for (std::size_t i = fits ? a.size() : 0; i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      longest[i * width + j] = a[i] == b[j]
                                   ? longest[(i + 1) * width + j + 1] + 1
                                   : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  std::vector<Edit> edits;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (fits && i < a.size() && j < b.size() && a[i] == b[j]) {
      edits.push_back({' ', a[i], i, j});
      ++i, ++j;
    } else if (i < a.size() &&
               (j == b.size() || !fits || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      edits.push_back({'-', a[i], i, j});
      ++i;
    } else {
      edits.push_back({'+', b[j], i, j});
      ++j;
    }
  }
  return edits;
}

/// Edits that are shown: changes and a few lines around them.
std::vector<bool> shown_of(const std::vector<Edit>& edits) {
  std::vector<bool> shown(edits.size());
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == ' ') continue;
    const std::size_t from = i - std::min(i, kContext), to = std::min(edits.size(), i + kContext + 1);
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(from),
              shown.begin() + static_cast<std::ptrdiff_t>(to), true);
  }
  return shown;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string unified_diff(std::string_view before, std::string_view after, std::size_t max_lines) {
  const std::vector<Edit> edits = edits_of(lines_of(before), lines_of(after));
  const std::vector<bool> shown = shown_of(edits);
  std::string text;
  std::size_t lines = 0, left_out = 0;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (!shown[i]) continue;
    if (lines >= max_lines) {
      left_out += edits[i].kind == ' ' ? 0 : 1;
      continue;
    }
    if (i == 0 || !shown[i - 1])
      text += fmt::format("@@ -{} +{} @@\n", edits[i].before + 1, edits[i].after + 1);
    text += fmt::format("{}{}\n", edits[i].kind, edits[i].line);
    ++lines;
  }
  if (left_out > 0) text += fmt::format("... and {} more changed lines\n", left_out);
  return text;
}

}  // namespace ak

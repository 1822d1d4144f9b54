// SPDX-License-Identifier: Apache-2.0
#include "core/text/suggest.h"

#include "core/gate.h"
#include "core/text/shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ak {
namespace {

// Levenshtein distance with one row of memory.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

/// Bytes of the printable character that `text` starts with; 0 when it starts with none.
std::size_t printable_length(std::string_view text) {
  const std::size_t length = character_length(text);
  return length > 0 && is_control_character(text.substr(0, length)) ? 0 : length;
}

}  // namespace

std::string did_you_mean(std::string_view given, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  // Of equally near names the first that is not shorter: a letter is sooner wrong or left out than
  // one too many.
  std::pair<std::size_t, bool> least{given.size() / 3 + 1, false};
  for (const std::string& name : known) {
    const std::pair<std::size_t, bool> distance{edit_distance(given, name), name.size() < given.size()};
    if (distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : fmt::format("; did you mean '{}'?", *nearest);
}

std::string sanitize(std::string_view text, std::size_t limit) {
  if (!gate_enabled(Gate::untrusted_text)) return std::string(text);
  std::string clean;
  clean.reserve(std::min(text.size(), limit));
  while (!text.empty() && clean.size() < limit) {
    const std::size_t length = printable_length(text);
    if (clean.size() + length > limit) break;  // half a character would be malformed
    if (length == 0)
      clean += '?';
    else
      clean += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#include "core/text/suggest.h"

#include "core/gate.h"

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

unsigned int byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0u;
}

struct Utf8Form {
  unsigned int lead_low, lead_high;
  std::size_t bytes;
  unsigned int second_low,
      second_high;  // stricter than 80..BF where overlong forms and surrogates must be refused
};
// Unicode 15, table 3-7 "Well-Formed UTF-8 Byte Sequences"; C2 starts at A0, so that the C1
// controls are refused.
constexpr Utf8Form kUtf8Forms[] = {
    {0xC2, 0xC2, 2, 0xA0, 0xBF}, {0xC3, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

struct CodeRange {
  char32_t first, last;
};
// Characters that show nothing themselves and reorder or hide what is around them (Unicode 15, general category Cf,
// without those of single scripts).
constexpr CodeRange kUnseen[] = {{0xAD, 0xAD},       {0x61C, 0x61C},    {0x180E, 0x180E}, {0x200B, 0x200F},
                                 {0x2028, 0x202E},   {0x2060, 0x206F},  {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
                                 {0x1D173, 0x1D17A}, {0xE0000, 0xE007F}};

// Of a well-formed character of two bytes or more.
bool is_seen(std::string_view character) {
  char32_t code = byte_at(character, 0) & (0x7Fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte_at(character, i) & 0x3Fu);
  return std::ranges::none_of(kUnseen,
                              [&](CodeRange range) { return range.first <= code && code <= range.last; });
}

// Bytes of the character that `text` starts with, if it is one that prints; else 0.
std::size_t printable_length(std::string_view text) {
  const unsigned int lead = byte_at(text, 0);
  if (lead < 0x80) return (lead >= 0x20 && lead != 0x7F) || lead == '\n' || lead == '\t' ? 1 : 0;
  for (const Utf8Form& form : kUtf8Forms) {
    if (lead < form.lead_low || lead > form.lead_high) continue;
    const unsigned int second = byte_at(text, 1);
    if (second < form.second_low || second > form.second_high) return 0;
    for (std::size_t i = 2; i < form.bytes; ++i) {
      if ((byte_at(text, i) & 0xC0u) != 0x80) return 0;
    }
    return is_seen(text.substr(0, form.bytes)) ? form.bytes : 0;
  }
  return 0;
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

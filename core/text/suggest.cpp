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

/// Letters alike, whatever their case.
std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Edits from one to the other: a letter replaced, left out, one too many, or two neighbours that changed places
/// (optimal string alignment), with three rows of memory.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (a[i] == b[j] ? 0 : 1), above[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row[b.size()];
}

/// The nearest name by edits, at most a third of the letters of `given`; null where none is near.
const std::string* nearest_by_edits(const std::string& given, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  // Of equally near names the first that is not shorter: a letter is sooner wrong or left out than
  // one too many.
  std::pair<std::size_t, bool> least{given.size() / 3 + 1, false};
  for (const std::string& name : known) {
    const std::pair<std::size_t, bool> distance{edit_distance(given, lowered(name)),
                                                name.size() < given.size()};
    if (distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  return nearest;
}

/// The shortest name that `given` is a part of, such as bayesian of bayes; null where none is, or too few letters
/// would decide.
const std::string* shortest_with(const std::string& given, std::span<const std::string> known) {
  constexpr std::size_t kMinLetters = 3;  // two are in many names by chance
  if (given.size() < kMinLetters) return nullptr;
  const std::string* shortest = nullptr;
  for (const std::string& name : known)
    if (lowered(name).find(given) != std::string::npos &&
        (shortest == nullptr || name.size() < shortest->size()))
      shortest = &name;
  return shortest;
}

/// Bytes of the printable character that `text` starts with; 0 when it starts with none.
std::size_t printable_length(std::string_view text) {
  const std::size_t length = character_length(text);
  return length > 0 && is_control_character(text.substr(0, length)) ? 0 : length;
}

}  // namespace

std::string did_you_mean(std::string_view given, std::span<const std::string> known) {
  const std::string letters = lowered(given);
  const std::string* meant = nearest_by_edits(letters, known);
  if (meant == nullptr) meant = shortest_with(letters, known);
  return meant == nullptr ? "" : fmt::format("; did you mean '{}'?", *meant);
}

std::string sanitize(std::string_view text, std::size_t limit) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.size() <= limit && std::ranges::all_of(text, plain)) return std::string(text);
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

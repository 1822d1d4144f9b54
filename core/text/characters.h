// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace ak {

// Of ASCII, in every locale.
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
/// A character of a C++ identifier.
[[nodiscard]] constexpr bool is_word(char c) { return is_word_start(c) || is_digit(c); }
[[nodiscard]] constexpr bool is_identifier(std::string_view text) {
  return !text.empty() && is_word_start(text.front()) && std::ranges::all_of(text, is_word);
}

}  // namespace ak

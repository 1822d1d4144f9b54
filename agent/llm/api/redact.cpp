// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/redact.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ak::agent {
namespace {

constexpr std::string_view kMask = "[redacted]";
constexpr std::size_t kMinSecret = 4;  // a shorter one would blot out ordinary words

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}
bool is_credential(char c) { return is_word(c) || c == '.' || c == '+' || c == '/' || c == '=' || c == '~'; }

/// A prefix that keys begin with, and how many of its characters must follow to make a key.
struct KeyShape {
  std::string_view prefix;
  std::size_t least;
  bool (*belongs)(char);
  bool keep_prefix;  ///< the prefix is a word, not part of the key
};
constexpr std::array kShapes{KeyShape{"sk-", 16, is_word, false}, KeyShape{"AIza", 20, is_word, false},
                             KeyShape{"Bearer ", 8, is_credential, true},
                             KeyShape{"bearer ", 8, is_credential, true}};

/// Length of the key that begins at `at`, prefix included; 0: none does.
std::size_t key_length(std::string_view text, std::size_t at, const KeyShape& shape) {
  if (!text.substr(at).starts_with(shape.prefix) || (at > 0 && is_word(text[at - 1]))) return 0;
  std::size_t end = at + shape.prefix.size();
  while (end < text.size() && shape.belongs(text[end])) ++end;
  const std::size_t length = end - at;
  return length >= shape.prefix.size() + shape.least ? length : 0;
}

std::string without_shapes(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto shape = std::ranges::find_if(
        kShapes, [&](const KeyShape& candidate) { return key_length(text, at, candidate) > 0; });
    if (shape == kShapes.end()) {
      result += text[at++];
      continue;
    }
    if (shape->keep_prefix) result += shape->prefix;
    result += kMask;
    at += key_length(text, at, *shape);
  }
  return result;
}

/// Bytes of the UTF-8 character at the front of `text`; 0 when it is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length == 3 && ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f))) return 0;
  if (length == 4 && ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f))) return 0;
  return length;
}

/// Bytes of the terminal sequence ESC [ ... letter at the front of `text`, else 0.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:?", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

std::string redact(std::string_view text, std::span<const std::string> secrets) {
  std::string result(text);
  for (const std::string& secret : secrets) {
    if (secret.size() < kMinSecret) continue;
    for (std::size_t at = result.find(secret); at != std::string::npos;
         at = result.find(secret, at + kMask.size()))
      result.replace(at, secret.size(), kMask);
  }
  return without_shapes(result);
}

std::string clean_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (const std::size_t escape = escape_length(text); escape > 0) {
      text.remove_prefix(escape);
      continue;
    }
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool control = length == 1 && ((first < 0x20 && first != '\t' && first != '\n') || first == 0x7f);
    if (length == 0) {
      result += "\xef\xbf\xbd";
    } else if (!control) {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace ak::agent

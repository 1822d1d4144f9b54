// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/redact.h"

#include <algorithm>
#include <array>

#include "agent/llm/api/secret_forms.h"
#include "core/text/shown_text.h"

namespace ak::agent {
namespace {

constexpr std::string_view kMask = "[redacted]";
constexpr std::size_t kMinSecret = 4;     // a shorter one would blot out ordinary words
constexpr std::size_t kMinEdge = 6;       // of a secret, next to a cut; chosen: fewer are too common
constexpr std::size_t kMinPart = 12;      // of a secret, anywhere; chosen: words are shorter
constexpr std::size_t kShownBytes = 400;  // of a line: enough for an error's sentence, chosen

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

/// Bytes of the terminal sequence ESC [ ... letter at the front of `text`, else 0.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:?", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

void replace_all(std::string& text, const std::string& what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + kMask.size()))
    text.replace(at, what.size(), kMask);
}

struct Span {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

/// The longest part of `secret` around text[at, at + kMinEdge), which is in it.
Span part_around(std::string_view text, std::size_t at, std::string_view secret) {
  const std::string_view seed = text.substr(at, kMinEdge);
  Span longest{at, at};
  for (std::size_t in = secret.find(seed); in != std::string_view::npos; in = secret.find(seed, in + 1)) {
    std::size_t before = 0, length = seed.size();
    while (before < std::min(at, in) && text[at - before - 1] == secret[in - before - 1]) ++before;
    while (at + length < text.size() && in + length < secret.size() &&
           text[at + length] == secret[in + length])
      ++length;
    if (before + length > longest.size()) longest = {at - before, at + length};
  }
  return longest;
}

/// Every part of kMinPart characters has a block of half as many that begins at a multiple of that.
void replace_parts(std::string& text, std::string_view secret) {
  static_assert(kMinPart >= 2 * kMinEdge);
  if (secret.size() < kMinPart) return;
  std::string result;
  std::size_t kept = 0;
  for (std::size_t at = 0; at + kMinEdge <= text.size();) {
    const Span part = part_around(text, at, secret);
    if (part.size() < kMinPart || part.begin < kept) {
      at += kMinEdge;
      continue;
    }
    result.append(text, kept, part.begin - kept).append(kMask);
    kept = part.end;
    at = part.end;
  }
  if (kept > 0) text = result.append(text, kept);
}

/// The beginning of the secret, of kMinEdge characters or more, that `text` ends with.
std::size_t cut_beginning(std::string_view text, std::string_view secret) {
  for (std::size_t length = std::min(text.size(), secret.size() - 1); length >= kMinEdge; --length)
    if (text.ends_with(secret.substr(0, length))) return length;
  return 0;
}

/// The end of the secret that `text` begins with.
std::size_t cut_end(std::string_view text, std::string_view secret) {
  for (std::size_t length = std::min(text.size(), secret.size() - 1); length >= kMinEdge; --length)
    if (text.starts_with(secret.substr(secret.size() - length))) return length;
  return 0;
}

/// What stands where a text was cut, by a server or here.
constexpr std::array<std::string_view, 4> kCuts{kMask, "...", "\xe2\x80\xa6", "**"};

void replace_edges(std::string& text, std::string_view secret) {
  if (secret.size() <= kMinEdge) return;
  if (const std::size_t length = cut_beginning(text, secret))
    text.replace(text.size() - length, length, kMask);
  if (const std::size_t length = cut_end(text, secret)) text.replace(0, length, kMask);
  for (const std::string_view cut : kCuts) {
    for (std::size_t at = text.find(cut); at != std::string::npos; at = text.find(cut, at + cut.size())) {
      const std::string_view before = std::string_view(text).substr(0, at);
      if (const std::size_t length = cut_beginning(before, secret)) {
        text.replace(at - length, length, kMask);
        at += kMask.size() - length;
      }
      const std::size_t after = at + cut.size();
      if (const std::size_t length = cut_end(std::string_view(text).substr(after), secret))
        text.replace(after, length, kMask);
    }
  }
}

/// "https://user:password@host" without user and password.
std::string without_passwords(std::string_view text) {
  constexpr std::string_view kMark = "://";
  std::string result;
  std::size_t at = text.find(kMark);
  for (; at != std::string_view::npos; at = text.find(kMark)) {
    at += kMark.size();
    result += text.substr(0, at);
    text.remove_prefix(at);
    const std::string_view authority = text.substr(0, text.find_first_of("/?#\"'<> \t\r\n"));
    const std::size_t end = authority.rfind('@');
    if (end == std::string_view::npos || end == 0) continue;
    result += kMask;
    text.remove_prefix(end);
  }
  return result.append(text);
}

}  // namespace

Redactor::Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& secret) { return secret.size() < kMinSecret; });
  for (const std::string& secret : secrets_)
    for (std::string& form : secret_forms(secret)) forms_.push_back(std::move(form));
}

std::string Redactor::without_secrets(std::string_view text) const {
  std::string result(text);
  for (const std::string& form : forms_) replace_all(result, form);
  for (const std::string& secret : secrets_) {
    replace_parts(result, secret);
    replace_edges(result, secret);
  }
  return result;
}

std::string Redactor::operator()(std::string_view text) const {
  return without_shapes(without_passwords(without_secrets(text)));
}

void Redactor::redact(Json& json) const {
  if (json.is_string()) {
    json = (*this)(json.get<std::string>());
  } else if (json.is_array()) {
    for (Json& item : json) redact(item);
  } else if (json.is_object()) {
    Json clean = Json::object();
    for (auto& [name, value] : json.items()) {
      redact(value);
      clean[(*this)(name)] = std::move(value);
    }
    json = std::move(clean);
  }
}

bool Redactor::finds(const Json& json) const {
  if (json.is_string()) return finds(std::string_view(json.get_ref<const std::string&>()));
  if (!json.is_structured()) return false;
  for (const auto& [name, value] : json.items())
    if (finds(std::string_view(name)) || finds(value)) return true;
  return false;
}

std::string ForeignText::line(const Redactor& redactor) const {
  std::string line = clean_text(redactor(text_));
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (line.size() > kShownBytes) line = clean_text(line.substr(0, kShownBytes)) + "...";
  return line;
}

std::string redact(std::string_view text, std::span<const std::string> secrets) {
  return Redactor({secrets.begin(), secrets.end()})(text);
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
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      result += "\xef\xbf\xbd";
    } else if (!is_control_character(character)) {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace ak::agent

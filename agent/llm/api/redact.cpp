// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/redact.h"

#include <algorithm>
#include <array>

#include "agent/llm/api/readings.h"
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
bool is_alnum(char c) { return is_word(c) && c != '_' && c != '-'; }
bool is_upper_or_digit(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_token(char c) { return is_word(c) || c == '.'; }

/// A prefix that keys begin with, and how many of its characters must follow to make a key.
struct KeyShape {
  std::string_view prefix;
  std::size_t least;
  bool (*belongs)(char);
  bool keep_prefix = false;  ///< the prefix is a word, not part of the key
  std::ptrdiff_t dots = 0;   ///< at least so many are in it
};
// The providers' own documentation shows these forms. Below their full lengths, as a text may be cut; far above what
// identifiers of kernels are, that begin like this.
constexpr std::array kShapes{KeyShape{"sk-", 16, is_word},
                             KeyShape{"AIza", 20, is_word},
                             KeyShape{"Bearer ", 8, is_credential, true},
                             KeyShape{"bearer ", 8, is_credential, true},
                             KeyShape{"hf_", 24, is_alnum},
                             KeyShape{"ghp_", 24, is_alnum},
                             KeyShape{"gho_", 24, is_alnum},
                             KeyShape{"ghu_", 24, is_alnum},
                             KeyShape{"ghs_", 24, is_alnum},
                             KeyShape{"ghr_", 24, is_alnum},
                             KeyShape{"github_pat_", 24, is_word},
                             KeyShape{"gsk_", 24, is_alnum},
                             KeyShape{"nvapi-", 24, is_word},
                             KeyShape{"AKIA", 16, is_upper_or_digit},
                             KeyShape{"ASIA", 16, is_upper_or_digit},
                             KeyShape{"eyJ", 16, is_token, false, 2}};  // a JSON Web Token
constexpr std::string_view kShapeStarts = "sABbhgne";                   // what the prefixes begin with

/// Whether what begins at `at` is the rest of a word. The letter of an escape (\n) is none.
bool continues_word(std::string_view text, std::size_t at) {
  return at > 0 && is_word(text[at - 1]) && (at == 1 || text[at - 2] != '\\');
}

/// Length of the key that begins at `at`, prefix included; 0: none does.
std::size_t key_length(std::string_view text, std::size_t at, const KeyShape& shape) {
  if (!text.substr(at).starts_with(shape.prefix) || continues_word(text, at)) return 0;
  std::size_t end = at + shape.prefix.size();
  while (end < text.size() && shape.belongs(text[end])) ++end;
  const std::string_view key = text.substr(at, end - at);
  const bool whole =
      key.size() >= shape.prefix.size() + shape.least && std::ranges::count(key, '.') >= shape.dots;
  return whole ? key.size() : 0;
}

/// "-----BEGIN ... PRIVATE KEY-----" up to its end, or that of the text where the block was cut.
std::string without_private_keys(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
  constexpr std::size_t kMaxLabel = 64;  // bytes; labels are a few words (RFC 7468)
  std::string result;
  std::size_t kept = 0;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
    const std::string_view label = text.substr(at + kBegin.size(), kMaxLabel);
    if (label.substr(0, label.find(kDashes)).find("PRIVATE KEY") == std::string_view::npos) {
      at += kBegin.size();
      continue;
    }
    result.append(text, kept, at - kept).append(kMask);
    const std::size_t end = text.find(kEnd, at);
    const std::size_t close = end == std::string_view::npos ? end : text.find(kDashes, end + kEnd.size());
    if (close == std::string_view::npos) return result;
    kept = at = close + kDashes.size();
  }
  return result.append(text, kept);
}

std::string without_shapes(std::string_view text) {
  std::string result;
  std::size_t kept = 0;
  for (std::size_t at = text.find_first_of(kShapeStarts); at < text.size();
       at = text.find_first_of(kShapeStarts, at)) {
    const auto shape = std::ranges::find_if(
        kShapes, [&](const KeyShape& candidate) { return key_length(text, at, candidate) > 0; });
    if (shape == kShapes.end()) {
      ++at;
      continue;
    }
    result.append(text, kept, at - kept);
    if (shape->keep_prefix) result += shape->prefix;
    result += kMask;
    kept = at += key_length(text, at, *shape);
  }
  return result.append(text, kept);
}

/// Bytes of the terminal sequence ESC [ ... letter at the front of `text`, else 0.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:?", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// What marks where a text was cut, by a server or here; a NUL: what is not encoded (readings.h).
constexpr std::array<std::string_view, 9> kCuts{
    kMask, "...", "\xe2\x80\xa6", "**", "\xe2\x80\xa2", "xxx", "XXX", "truncated", std::string_view("\0", 1)};
// Of an escape within an escape that a cut has left in part, and of brackets around the mark.
constexpr std::size_t kMaxLeft = 16;

/// A cut, or the end of the text, at most kMaxLeft characters behind `at`.
bool is_cut_behind(std::string_view text, std::size_t at) {
  if (text.size() - at <= kMaxLeft) return true;
  for (std::size_t left = 0; left <= kMaxLeft; ++left)
    for (const std::string_view cut : kCuts)
      if (text.substr(at + left).starts_with(cut)) return true;
  return false;
}

/// A cut, or the beginning of the text, at most kMaxLeft characters before `at`.
bool is_cut_before(std::string_view text, std::size_t at) {
  if (at <= kMaxLeft) return true;
  for (std::size_t left = 0; left <= kMaxLeft; ++left)
    for (const std::string_view cut : kCuts)
      if (text.substr(0, at - left).ends_with(cut)) return true;
  return false;
}

/// The end of the part of `secret` at text[at, ...) that has to go; `at` where none does. The part before `at` has
/// been looked at, so that a part begins here.
/// @param in where in the secret text[at, at + seed) is
std::size_t end_of_part(std::string_view text, std::size_t at, std::string_view secret, std::size_t in) {
  std::size_t length = 0;
  while (at + length < text.size() && in + length < secret.size() && text[at + length] == secret[in + length])
    ++length;
  const bool whole = length == secret.size();
  const bool is_beginning = in == 0 && is_cut_behind(text, at + length);
  const bool is_end = in + length == secret.size() && is_cut_before(text, at);
  return whole || length >= kMinPart || is_beginning || is_end ? at + length : at;
}

using Characters = std::array<bool, 256>;

Characters characters_of(std::string_view text) {
  Characters has{};
  for (const char c : text) has[static_cast<unsigned char>(c)] = true;
  return has;
}

/// The first `length` characters from `at` on that are all `wanted`; the end of the text where none are.
std::size_t find_all_wanted(std::string_view text, std::size_t at, std::size_t length,
                            const Characters& wanted) {
  const char* const bytes = text.data();
  while (at + length <= text.size()) {
    std::size_t left = length;
    while (left > 0 && wanted[static_cast<unsigned char>(bytes[at + left - 1])]) --left;
    if (left == 0) return at;
    at += left;
  }
  return text.size();
}

using Spots = std::vector<Reading::Place>;

/// Where in the source of `reading` the secret is, whole, in parts, or cut.
void find_parts(const Reading& reading, std::string_view secret, Spots& spots) {
  const std::string_view text = reading.text;
  const std::size_t seed = std::min(kMinEdge, secret.size());
  const Characters own = characters_of(secret);
  for (std::size_t at = 0; (at = find_all_wanted(text, at, seed, own)) < text.size();) {
    std::size_t end = at;
    const std::string_view front = text.substr(at, seed);
    for (std::size_t in = secret.find(front); in != std::string_view::npos; in = secret.find(front, in + 1))
      end = std::max(end, end_of_part(text, at, secret, in));
    if (end > at) spots.push_back(reading.source(at, end));
    at = std::max(end, at + 1);
  }
}

/// `text` with the mask for all that `spots` cover.
std::string masked(std::string_view text, Spots spots) {
  std::ranges::sort(spots, {}, &Reading::Place::begin);
  std::string result;
  std::size_t kept = 0;
  for (const Reading::Place& place : spots) {
    if (kept == 0 || place.begin > kept) result.append(text, kept, place.begin - kept).append(kMask);
    kept = std::max<std::size_t>(kept, place.end);
  }
  return result.append(text, kept);
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
}

std::string Redactor::without_secrets(std::string_view text) const {
  if (secrets_.empty()) return std::string(text);
  const auto search = [&](Places places) {
    Spots spots;
    for_each_reading(text, places, [&](const Reading& reading) {
      if (places == Places::left_out && !spots.empty()) return;  // one is enough
      for (const std::string& secret : secrets_) find_parts(reading, secret, spots);
    });
    return spots;
  };
  // Nearly every text has none.
  return search(Places::left_out).empty() ? std::string(text) : masked(text, search(Places::kept));
}

std::string Redactor::operator()(std::string_view text) const {
  return without_shapes(without_private_keys(without_passwords(without_secrets(text))));
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

// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/readings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.h"

namespace ak::agent {
namespace {

using std::string_view;

constexpr char kGap = '\0';
// Encoded texts of fewer bytes occur by chance; redact.cpp hides no shorter part of a secret.
constexpr std::size_t kMinDecoded = 6;
constexpr int kMaxNested = 3;  // escapes within escapes: a text in JSON in JSON in an address

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Of '+' and '/', and of their stand-ins in addresses, too (RFC 4648, 4 and 5).
constexpr int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

/// A character that was written with an escape.
struct Escaped {
  std::size_t length = 0;  ///< of the escape; 0: there is none
  std::uint32_t character = 0;
};

/// A number of `least` to `most` digits at text[at, ...), after which `end` comes unless it is NUL.
Escaped number(string_view text, std::size_t at, unsigned base, std::size_t least, std::size_t most,
               char end) {
  Escaped read;
  std::size_t digits = 0;
  for (; digits < most && at + digits < text.size(); ++digits) {
    const int digit = hex_value(text[at + digits]);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) break;
    read.character = read.character * base + static_cast<unsigned>(digit);
  }
  if (digits < least) return {};
  read.length = at + digits;
  if (end == '\0') return read;
  if (read.length >= text.size() || text[read.length] != end) return {};
  ++read.length;
  return read;
}

struct EscapeForm {
  string_view prefix;
  unsigned base;
  std::size_t least, most;  ///< digits
  char end;                 ///< NUL: nothing
};
constexpr std::array kEscapeForms{
    EscapeForm{"%", 16, 2, 2, '\0'},   EscapeForm{"\\u", 16, 4, 4, '\0'}, EscapeForm{"\\u{", 16, 1, 6, '}'},
    EscapeForm{"\\x", 16, 2, 2, '\0'}, EscapeForm{"\\", 8, 3, 3, '\0'},   EscapeForm{"&#x", 16, 1, 6, ';'},
    EscapeForm{"&#X", 16, 1, 6, ';'},  EscapeForm{"&#", 10, 1, 7, ';'},   EscapeForm{"=", 16, 2, 2, '\0'}};

struct NamedEscape {
  string_view name;
  char character;
};
// Ends of lines, within base64, and the names that HTML has for characters that keys and passwords have.
constexpr std::array kNamedEscapes{
    NamedEscape{"\\n", '\n'},     NamedEscape{"\\r", '\r'},     NamedEscape{"&amp;", '&'},
    NamedEscape{"&lt;", '<'},     NamedEscape{"&gt;", '>'},     NamedEscape{"&quot;", '"'},
    NamedEscape{"&apos;", '\''},  NamedEscape{"&sol;", '/'},    NamedEscape{"&plus;", '+'},
    NamedEscape{"&equals;", '='}, NamedEscape{"&lowbar;", '_'}, NamedEscape{"&dash;", '-'},
    NamedEscape{"&period;", '.'}, NamedEscape{"&colon;", ':'},  NamedEscape{"&num;", '#'},
    NamedEscape{"&dollar;", '$'}, NamedEscape{"&percnt;", '%'}, NamedEscape{"&commat;", '@'},
    NamedEscape{"&ast;", '*'},    NamedEscape{"&bsol;", '\\'},  NamedEscape{"&excl;", '!'},
    NamedEscape{"&tilde;", '~'}};

/// Of ASCII: a character of several bytes is no escape, but may be the mark of a cut.
bool is_punctuation(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c > ' ' && c < 0x7f && !letter && (c < '0' || c > '9');
}

constexpr bool begins_escape(char c) { return c == '%' || c == '\\' || c == '&' || c == '='; }

/// The escape at the front of `text`.
Escaped escape_at(string_view text) {
  for (const EscapeForm& form : kEscapeForms) {
    if (!text.starts_with(form.prefix)) continue;
    const Escaped read = number(text, form.prefix.size(), form.base, form.least, form.most, form.end);
    if (read.length > 0) return read;
  }
  for (const NamedEscape& named : kNamedEscapes)
    if (text.starts_with(named.name)) return {named.name.size(), static_cast<unsigned char>(named.character)};
  if (text.front() == '\\' && text.size() > 1 && is_punctuation(text[1]))
    return {2, static_cast<unsigned char>(text[1])};
  return {};
}

void append_utf8(std::uint32_t character, std::string& text) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  if (character < 0x80) return byte(character);
  if (character < 0x800) {
    byte(0xC0 | character >> 6);
  } else {
    byte(0xE0 | (character >> 12 & 0xF));
    byte(0x80 | (character >> 6 & 0x3F));
  }
  byte(0x80 | (character & 0x3F));
}

Reading::Place place(std::size_t begin, std::size_t end) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

using Decode = std::optional<Reading> (*)(string_view, Places);

/// text[begin, end) as it is.
void append_plain(string_view text, std::size_t begin, std::size_t end, Places places, Reading& reading) {
  reading.text.append(text, begin, end - begin);
  if (places == Places::left_out) return;
  for (; begin < end; ++begin) reading.places.push_back(place(begin, begin + 1));
}

std::optional<Reading> without_escapes(string_view text, Places places) {
  Reading reading;
  std::size_t copied = 0;  // what is before is in `reading`
  bool found = false;
  const char* const bytes = text.data();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_escape(bytes[at])) continue;
    const Escaped escaped = escape_at(text.substr(at));
    if (escaped.length == 0) continue;
    found = true;
    append_plain(text, copied, at, places, reading);
    copied = at + escaped.length;
    append_utf8(escaped.character, reading.text);
    if (places == Places::kept) reading.places.resize(reading.text.size(), place(at, copied));
    at = copied - 1;
  }
  if (!found) return std::nullopt;
  append_plain(text, copied, text.size(), places, reading);
  return reading;
}

/// Digits that each hold some bits of a byte.
struct Digits {
  std::size_t bits;
  std::array<std::int8_t, 256> values;  ///< by character; negative: none

  [[nodiscard]] int value(char c) const { return values[static_cast<unsigned char>(c)]; }
};
constexpr Digits digits_of(std::size_t bits, int (*value)(char)) {
  Digits digits{.bits = bits, .values = {}};
  for (int c = 0; c < 256; ++c)
    digits.values[static_cast<std::size_t>(c)] = static_cast<std::int8_t>(value(static_cast<char>(c)));
  return digits;
}
constexpr Digits kBase64 = digits_of(6, base64_value), kHexadecimal = digits_of(4, hex_value);

/// The bytes of digits that may be broken into lines, without the first `skipped_bits`.
void append_bytes(string_view text, std::size_t begin, std::size_t end, const Digits& digits,
                  std::size_t skipped_bits, Places places, Reading& reading) {
  std::uint32_t bits = 0;
  std::size_t count = 0, skip = skipped_bits, first = begin;  // first: the digit that the next byte begins in
  for (std::size_t at = begin; at < end; ++at) {
    const int value = digits.value(text[at]);
    if (value < 0) continue;  // the end of a line
    bits = (bits << digits.bits | static_cast<std::uint32_t>(value)) & 0xFFFF;
    const std::size_t skipped = std::min(skip, digits.bits);
    skip -= skipped;
    if (count == 0 && skipped < digits.bits) first = at;
    count += digits.bits - skipped;
    if (count < 8) continue;
    count -= 8;
    reading.text += static_cast<char>(bits >> count & 0xFF);
    if (places == Places::kept) reading.places.push_back(place(first, at + 1));
    first = at;
  }
}

/// A run of digits that may be broken into lines.
struct Run {
  std::size_t end, digits;
};
Run run_at(string_view text, std::size_t at, const Digits& digits) {
  Run run{at, 0};
  for (; run.end < text.size(); ++run.end) {
    const char c = text[run.end];
    const bool is_digit = digits.value(c) >= 0;
    if (!is_digit && (run.digits == 0 || (c != '\n' && c != '\r'))) break;
    run.digits += is_digit;
  }
  return run;
}

/// All runs of digits that are long enough, and a gap for what is between.
std::optional<Reading> read_digits(string_view text, const Digits& digits, std::size_t skipped_bits,
                                   Places places) {
  Reading reading;
  bool found = false;
  for (std::size_t at = 0; at < text.size();) {
    const Run run = run_at(text, at, digits);
    if (run.digits * digits.bits >= kMinDecoded * 8) {
      append_bytes(text, at, run.end, digits, skipped_bits, places, reading);
      found = true;
    }
    if (run.end < text.size() && !reading.text.ends_with(kGap)) {
      reading.text += kGap;
      if (places == Places::kept) reading.places.push_back(place(run.end, run.end + 1));
    }
    at = run.end + 1;
  }
  return found ? std::optional(std::move(reading)) : std::nullopt;
}

template <const Digits& kDigits, std::size_t kSkippedBits>
std::optional<Reading> read_as(string_view text, Places places) {
  return read_digits(text, kDigits, kSkippedBits, places);
}

// A cut leaves any number of a byte's bits in front.
constexpr std::array<Decode, 6> kDigitReadings{read_as<kBase64, 0>,      read_as<kBase64, 2>,
                                               read_as<kBase64, 4>,      read_as<kBase64, 6>,
                                               read_as<kHexadecimal, 0>, read_as<kHexadecimal, 4>};

/// `inner`, read from the text of `outer`, as read from the source of that.
Reading within(const Reading& outer, Reading inner) {
  for (Reading::Place& place : inner.places) place = outer.source(place.begin, place.end);
  return inner;
}

/// `reading`, and what escapes within it say.
void look_within(const Reading& reading, int nested, Places places,
                 const std::function<void(const Reading&)>& look) {
  look(reading);
  if (nested == kMaxNested) return;
  if (auto inner = without_escapes(reading.text, places))
    look_within(within(reading, *std::move(inner)), nested + 1, places, look);
}

}  // namespace

Reading::Place Reading::source(std::size_t begin, std::size_t end) const {
  return places.empty() ? place(begin, end) : Place{places[begin].begin, places[end - 1].end};
}

void for_each_reading(string_view text, Places places, const std::function<void(const Reading&)>& look) {
  AK_ASSERT(text.size() < std::numeric_limits<std::uint32_t>::max(), "a text to redact is below 4 GiB");
  look_within({.text = std::string(text), .places = {}}, 0, places, [&](const Reading& reading) {
    look(reading);
    for (const Decode decode : kDigitReadings)
      if (auto digits = decode(reading.text, places))
        look_within(within(reading, *std::move(digits)), 0, places, look);
  });
}

}  // namespace ak::agent

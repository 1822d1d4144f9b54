// SPDX-License-Identifier: Apache-2.0
// A key in any encoding, cut anywhere: nobody who undoes the encoding finds more of it than a few characters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "agent/llm/api/redact.h"
#include "tests/support/fuzz_iterations.h"

namespace ak::agent {
namespace {

const std::string kKey = "q9Zk3/xWv7+RbT2_m-LdY5sJ8=cHfN4";
const Redactor kRedactor({kKey});

/// A text that holds the key, and where in it each character of the key is written.
struct Encoded {
  struct Place {
    std::size_t begin, end;
  };
  std::string text;
  std::vector<Place> places;
};

/// The longest part of the key whose encoding is in `text`.
std::size_t leaked(const Encoded& encoded, const std::string& text) {
  const auto& places = encoded.places;
  std::size_t longest = 0;
  for (std::size_t first = 0; first < places.size(); ++first)
    while (first + longest < places.size()) {
      const std::size_t begin = places[first].begin, end = places[first + longest].end;
      if (text.find(encoded.text.substr(begin, end - begin)) == std::string::npos) break;
      ++longest;
    }
  return longest;
}

using Spell = std::string (*)(char);
unsigned value(char c) { return static_cast<unsigned char>(c); }
bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

constexpr std::array<Spell, 13> kSpellings{
    [](char c) { return std::string(1, c); }, [](char c) { return fmt::format("%{:02X}", value(c)); },
    [](char c) { return fmt::format("%{:02x}", value(c)); },
    [](char c) { return fmt::format("\\u{:04x}", value(c)); },
    [](char c) { return fmt::format("\\u{:04X}", value(c)); },
    [](char c) { return fmt::format("\\u{{{:x}}}", value(c)); },
    [](char c) { return fmt::format("\\x{:02x}", value(c)); },
    [](char c) { return fmt::format("\\{:03o}", value(c)); },
    [](char c) { return fmt::format("&#x{:X};", value(c)); },
    [](char c) { return fmt::format("&#{};", value(c)); },
    [](char c) { return fmt::format("={:02X}", value(c)); },
    // What most encoders do: only what has to be escaped is.
    [](char c) { return is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", value(c)); },
    [](char c) {
      return is_plain(c) ? std::string(1, c) : std::string{'\\', c};
    }};

/// Each character of the key as `spell` writes it, between words.
template <class SpellOne>
Encoded spelled(SpellOne spell) {
  Encoded encoded{.text = "wrong key ", .places = {}};
  for (const char c : kKey) {
    const std::size_t begin = encoded.text.size();
    encoded.text += spell(c);
    encoded.places.push_back({begin, encoded.text.size()});
  }
  encoded.text += " of yours";
  return encoded;
}

std::string each(const std::string& text, Spell spell) {
  std::string all;
  for (const char c : text) all += spell(c);
  return all;
}

/// The text in digits of `bits` bits, in lines of `line` digits.
Encoded in_digits(const std::string& before, std::string_view digits, unsigned bits, std::size_t line) {
  const std::string plain = before + kKey + " of yours";
  Encoded encoded;
  std::vector<std::size_t> at;  // where each digit is
  unsigned rest = 0, count = 0;
  const auto add = [&](unsigned digit) {
    if (!at.empty() && at.size() % line == 0) encoded.text += "\r\n";
    at.push_back(encoded.text.size());
    encoded.text += digits[digit];
  };
  for (const char c : plain) {
    rest = rest << 8 | value(c);
    for (count += 8; count >= bits; count -= bits) add(rest >> (count - bits) & ((1u << bits) - 1));
  }
  if (count > 0) add(rest << (bits - count) & ((1u << bits) - 1));
  for (std::size_t i = 0; i < kKey.size(); ++i) {
    const std::size_t first = (before.size() + i) * 8 / bits, last = ((before.size() + i) * 8 + 7) / bits;
    encoded.places.push_back({at[first], at[last] + 1});
  }
  return encoded;
}

const std::string kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::vector<Encoded> all_encodings() {
  std::vector<Encoded> all;
  for (const Spell spell : kSpellings) all.push_back(spelled(spell));
  for (const Spell outer : {kSpellings[11], kSpellings[12], kSpellings[1], kSpellings[3]})
    for (const Spell inner : {kSpellings[3], kSpellings[11], kSpellings[12]})
      all.push_back(spelled([&](char c) { return each(inner(c), outer); }));
  for (const char* before : {"", "k", "me", "me:", "the key is "}) {
    for (const char* last : {"+/", "-_"}) all.push_back(in_digits(before, kLetters + last, 6, 1000));
    all.push_back(in_digits(before, kLetters + "+/", 6, 20));
    all.push_back(in_digits(before, "0123456789abcdef", 4, 1000));
    all.push_back(in_digits(before, "0123456789ABCDEF", 4, 16));
  }
  return all;
}

/// Fewer than 6 characters stay where the text is cut, by a server or by us.
void check_cut(const Encoded& encoded, std::size_t at, std::string_view mark) {
  const std::string head = encoded.text.substr(0, at), tail = encoded.text.substr(at);
  for (const std::string& text :
       {fmt::format("{}{}", head, mark), fmt::format("{}{}", mark, tail),
        fmt::format("{}{} and more", head, mark), fmt::format("see {}{}", mark, tail)}) {
    if (mark.empty() && (text.ends_with("and more") || text.starts_with("see "))) continue;
    CAPTURE(text, kRedactor(text));
    REQUIRE(leaked(encoded, kRedactor(text)) < 6);
  }
}

TEST_CASE("a key that is encoded and cut anywhere leaves less than six characters") {
  for (const Encoded& encoded : all_encodings()) {
    REQUIRE(leaked(encoded, encoded.text) == kKey.size());
    REQUIRE(leaked(encoded, kRedactor(encoded.text)) < 3);  // letters of other words
    CHECK(kRedactor.finds(std::string_view(encoded.text)));
    for (std::size_t at = encoded.places.front().begin; at <= encoded.places.back().end; ++at)
      for (const char* mark : {"", "...", "\xE2\x80\xA6", "****", " [truncated] "})
        check_cut(encoded, at, mark);
  }
}

TEST_CASE("less than twelve characters of a key stay in the middle of a text, however they are encoded") {
  for (const Encoded& encoded : all_encodings()) {
    for (std::size_t first = 0; first + 12 <= kKey.size(); ++first) {
      const std::size_t begin = encoded.places[first].begin, end = encoded.places[first + 11].end;
      const std::string text =
          "the part (((((( " + encoded.text.substr(begin, end - begin) + " )))))) of a text that goes on";
      CAPTURE(text);
      REQUIRE(leaked(encoded, kRedactor(text)) < 6);
      CHECK(kRedactor(text).starts_with("the part (((((( "));
      CHECK(kRedactor(text).ends_with(" )))))) of a text that goes on"));
    }
  }
}

TEST_CASE("a key whose every character is escaped in its own way is found, whole and cut") {
  std::mt19937 random(21);
  const auto draw = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  for (int round = 0; round < ak::test::fuzz_iterations(400); ++round) {
    const std::size_t nested = draw(3);
    const Encoded encoded = spelled([&](char c) {
      std::string text = kSpellings[draw(kSpellings.size())](c);
      for (std::size_t i = 0; i < nested; ++i) text = each(text, kSpellings[11 + draw(2)]);
      return text;
    });
    CAPTURE(round, encoded.text);
    REQUIRE(leaked(encoded, kRedactor(encoded.text)) < 3);  // letters of other words
    const std::size_t begin = encoded.places.front().begin;
    check_cut(encoded, begin + draw(encoded.places.back().end - begin), draw(2) == 0 ? "" : "...");
  }
}

TEST_CASE("what looks encoded and holds no key stays as it is") {
  const std::string kernel =
      "// 100% of \\u0041, &amp;, =3D\n#include <cuda_fp16.h>\n__device__ unsigned table[] = {0xDEADBEEF, "
      "0x6a6b};\n"
      "asm volatile(\"mov.u32 %0, %%laneid;\\n\\t\" : \"=r\"(x));  // aGVsbG8gd29ybGQhIGhlbGxvIHdvcmxkIQ==\n";
  CHECK(kRedactor(kernel) == kernel);
}

}  // namespace
}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <system_error>

namespace ak::emulator {
namespace {

enum CharClass : std::uint8_t { kBlank = 1, kDigit = 2, kNameStart = 4, kNamePart = 8 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<unsigned char>(c)] = kBlank;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = kDigit | kNamePart;
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = kNameStart | kNamePart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<std::size_t>(c)] = kNameStart | kNamePart;
  for (const char c : {'_', '$'}) classes[static_cast<unsigned char>(c)] = kNameStart | kNamePart;
  return classes;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is(char c, CharClass wanted) { return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0; }

constexpr std::array<std::string_view, 8> kPairs = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
constexpr std::string_view kSingles = "{}()[]<>,;:+-*/%!~&|^?=@";

}  // namespace

void Lexer::reject(Token& token, std::string_view message) {
  token.kind = TokenKind::bad;
  token.text = message;
  position_ = text_.size();
}

/// False where a comment never ends.
bool Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is(c, kBlank)) {
      line_ += c == '\n' ? 1 : 0;
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      const std::size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() : end;
    } else if (c == '/' && at(position_ + 1) == '*') {
      const std::size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) return false;
      for (; position_ < end; ++position_) line_ += text_[position_] == '\n' ? 1 : 0;
      position_ = end + 2;
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::next() {
  Token token = next_piece();
  if (token.kind == TokenKind::dotted && token.text == "loc") read_location(token);
  return token;
}

bool Lexer::accept(TokenKind kind, std::string_view text) {
  Lexer ahead = *this;
  const Token token = ahead.next_piece();
  if (token.kind != kind || (!text.empty() && token.text != text)) return false;
  *this = ahead;
  return true;
}

void Lexer::accept_place() {
  for (int i = 0; i < 3; ++i) static_cast<void>(accept(TokenKind::integer));
}

/// `.loc 1 20 3, function_name $L__info_string0 + 4, inlined_at 1 30 5`. Where it ends is read from its grammar, not
/// from lines, so that nothing hides behind it.
void Lexer::read_location(Token& token) {
  const std::size_t begin = position_ - token.text.size();
  accept_place();
  while (accept(TokenKind::punctuation, ",")) {
    if (accept(TokenKind::word, "inlined_at")) {
      accept_place();
    } else if (accept(TokenKind::word, "function_name") && accept(TokenKind::word) &&
               accept(TokenKind::punctuation, "+")) {
      static_cast<void>(accept(TokenKind::integer));
    }
  }
  token.kind = TokenKind::location;
  token.text = text_.substr(begin, position_ - begin);
}

Token Lexer::next_piece() {
  const std::size_t before = position_;
  const bool blanks_end = skip_blanks();
  Token token;
  token.glued = position_ == before && before != 0;
  token.line = line_;
  if (!blanks_end) {
    reject(token, "a comment does not end");
    return token;
  }
  if (position_ >= text_.size()) return token;
  const char c = text_[position_];
  if (is(c, kNameStart) || (c == '%' && is(at(position_ + 1), kNameStart))) {
    read_word(token);
  } else if (c == '.') {
    read_dotted(token);
  } else if (is(c, kDigit)) {
    read_number(token);
  } else if (c == '"') {
    read_string(token);
  } else {
    read_punctuation(token);
  }
  return token;
}

void Lexer::read_word(Token& token) {
  const std::size_t begin = position_++;
  while (position_ < text_.size() && is(text_[position_], kNamePart)) ++position_;
  token.kind = TokenKind::word;
  token.text = text_.substr(begin, position_ - begin);
}

void Lexer::read_dotted(Token& token) {
  const std::size_t begin = ++position_;
  while (position_ < text_.size()) {
    if (is(text_[position_], kNamePart)) {
      ++position_;
    } else if (text_[position_] == ':' && at(position_ + 1) == ':' && is(at(position_ + 2), kNamePart)) {
      position_ += 2;
    } else {
      break;
    }
  }
  token.kind = TokenKind::dotted;
  token.text = text_.substr(begin, position_ - begin);
  if (token.text.empty()) reject(token, "a dot without a name");
}

void Lexer::read_string(Token& token) {
  const std::size_t begin = ++position_;
  // File names hold backslashes unescaped on some hosts: the next quote ends the string.
  const std::size_t end = text_.find_first_of("\"\n", begin);
  if (end == std::string_view::npos || text_[end] != '"') return reject(token, "a string does not end");
  position_ = end + 1;
  token.kind = TokenKind::string;
  token.text = text_.substr(begin, end - begin);
}

void Lexer::read_punctuation(Token& token) {
  token.kind = TokenKind::punctuation;
  constexpr std::string_view kPairEnds = "<>=&|";
  if (kPairEnds.find(at(position_ + 1)) != std::string_view::npos) {
    token.text = text_.substr(position_, 2);
    if (std::ranges::find(kPairs, token.text) != kPairs.end()) {
      position_ += 2;
      return;
    }
  }
  token.text = text_.substr(position_, 1);
  if (kSingles.find(token.text.front()) == std::string_view::npos) {
    return reject(token, "a character that PTX does not have");
  }
  ++position_;
}

void Lexer::read_number(Token& token) {
  const char second = text_[position_] == '0' ? at(position_ + 1) : '\0';
  if (second == 'f' || second == 'F' || second == 'd' || second == 'D') return read_real_pattern(token);
  if (second == 'x' || second == 'X') return read_integer(token, position_ + 2, 16);
  if (second == 'b' || second == 'B') return read_integer(token, position_ + 2, 2);
  std::size_t end = position_;
  while (is(at(end), kDigit)) ++end;
  if (at(end) == '.' || at(end) == 'e' || at(end) == 'E') return read_decimal_real(token);
  read_integer(token, position_, is(second, kDigit) ? 8 : 10);
}

void Lexer::read_integer(Token& token, std::size_t digits_begin, int base) {
  const char* const begin = text_.data() + digits_begin;
  const char* const limit = text_.data() + text_.size();
  const auto [end, error] = std::from_chars(begin, limit, token.bits, base);
  if (error == std::errc::result_out_of_range) return reject(token, "an integer does not fit into 64 bits");
  std::size_t after = static_cast<std::size_t>(end - text_.data());
  const bool suffix = at(after) == 'U' || at(after) == 'u';
  after += suffix ? 1 : 0;
  if (error != std::errc{} || is(at(after), kNamePart)) return reject(token, "a malformed integer");
  token.kind = TokenKind::integer;
  token.is_unsigned = suffix || (token.bits >> 63) != 0;
  token.text = text_.substr(position_, after - position_);
  position_ = after;
}

/// 0f and 8, or 0d and 16 hexadecimal digits.
void Lexer::read_real_pattern(Token& token) {
  const bool is_single = text_[position_ + 1] == 'f' || text_[position_ + 1] == 'F';
  const std::size_t digits = is_single ? 8 : 16;
  const std::size_t end = position_ + 2 + digits;
  if (end > text_.size()) return reject(token, "a malformed floating-point constant");
  const auto [parsed_end, error] =
      std::from_chars(text_.data() + position_ + 2, text_.data() + end, token.bits, 16);
  if (error != std::errc{} || parsed_end != text_.data() + end || is(at(end), kNamePart)) {
    return reject(token, "a malformed floating-point constant");
  }
  token.kind = TokenKind::real;
  token.type = is_single ? Type::f32 : Type::f64;
  token.text = text_.substr(position_, end - position_);
  position_ = end;
}

void Lexer::read_decimal_real(Token& token) {
  double value = 0;
  const char* const limit = text_.data() + text_.size();
  const auto [end, error] = std::from_chars(text_.data() + position_, limit, value);
  const std::size_t after = static_cast<std::size_t>(end - text_.data());
  if (error != std::errc{} || is(at(after), kNamePart)) {
    return reject(token, "a malformed floating-point constant");
  }
  token.kind = TokenKind::real;
  token.type = Type::f64;
  token.bits = std::bit_cast<std::uint64_t>(value);
  token.text = text_.substr(position_, after - position_);
  position_ = after;
}

TokenizedText::TokenizedText(std::string_view whole, int line) : text(whole) {
  constexpr std::size_t kUsualBytes = 6;  // of a token with the blanks before it, at least
  tokens.reserve(text.size() / kUsualBytes + 1);
  Lexer lexer(text, line);
  do {
    tokens.push_back(lexer.next());
  } while (tokens.back().kind != TokenKind::end && tokens.back().kind != TokenKind::bad);
}

}  // namespace ak::emulator

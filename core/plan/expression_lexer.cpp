// SPDX-License-Identifier: Apache-2.0
#include "core/plan/expression_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/plan/expression_node.h"
#include "core/text/characters.h"

namespace ak {
namespace {

using std::string_view_literals::operator""sv;

// Longer ones first: the first that matches wins.
constexpr std::array kSymbols{"**"sv, "//"sv, "=="sv, "!="sv, "<="sv, ">="sv, "+"sv, "-"sv, "*"sv,
                              "/"sv,  "%"sv,  "<"sv,  ">"sv,  "("sv,  ")"sv,  "["sv, "]"sv, ","sv};
constexpr std::array kKeywords{"if"sv, "else"sv, "or"sv, "and"sv, "not"sv, "in"sv, "True"sv, "False"sv};

// Not <cctype>: its answers depend on the locale and it is undefined for negative char.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Token ExpressionLexer::take(TokenKind kind, std::size_t length) {
  const Token token{.kind = kind, .text = text_.substr(position_, length), .column = column()};
  position_ += length;
  return token;
}

Token ExpressionLexer::next() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  if (position_ == text_.size()) return take(TokenKind::end, 0);
  const char c = text_[position_];
  if (const std::size_t length = real_length(); length > 0) return real(length);
  if (is_digit(c)) return integer();
  if (is_word_start(c)) return word();
  if (c == '\'' || c == '"') return string();
  return symbol();
}

/// Characters of the real that begins here: digits with a point, an exponent or both; 0 where none does.
std::size_t ExpressionLexer::real_length() const {
  if (!reals_) return 0;
  const std::string_view rest = text_.substr(position_);
  const auto at = [&](std::size_t i) { return i < rest.size() ? rest[i] : ' '; };
  std::size_t length = 0;
  while (is_digit(at(length))) ++length;
  const std::size_t whole = length;
  if (at(length) == '.') {
    ++length;
    while (is_digit(at(length))) ++length;
    if (whole == 0 && length == 1) return 0;
  }
  if (length > 0 && (at(length) == 'e' || at(length) == 'E')) {
    std::size_t exponent = length + 1;
    if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
    if (is_digit(at(exponent))) length = exponent;
    while (is_digit(at(length))) ++length;
  }
  return length > whole && !is_word(at(length)) ? length : 0;
}

Token ExpressionLexer::real(std::size_t length) {
  Token token = take(TokenKind::real, length);
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.number);
  if (error != std::errc()) throw ExpressionFault{token.column, "the number does not fit in a double"};
  return token;
}

Token ExpressionLexer::integer() {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::size_t length = 0;
  std::uint64_t magnitude = 0;
  for (; position_ + length < text_.size() && is_digit(text_[position_ + length]); ++length) {
    const auto digit = static_cast<std::uint64_t>(text_[position_ + length] - '0');
    if (magnitude > (kLimit - digit) / 10)
      throw ExpressionFault{column(), "the integer does not fit in 64 bits"};
    magnitude = magnitude * 10 + digit;
  }
  const char after = position_ + length < text_.size() ? text_[position_ + length] : ' ';
  if (after == '.' || is_word(after)) {
    throw ExpressionFault{column(),
                          "expected a decimal integer (no fraction, exponent, suffix or other base)"};
  }
  if (length > 1 && text_[position_] == '0' && magnitude != 0) {
    throw ExpressionFault{column(), "an integer must not start with 0"};
  }
  Token token = take(TokenKind::integer, length);
  token.magnitude = magnitude;
  return token;
}

Token ExpressionLexer::string() {
  const std::size_t end = text_.find(text_[position_], position_ + 1);
  if (end == std::string_view::npos) throw ExpressionFault{column(), "the string has no closing quote"};
  Token token = take(TokenKind::string, end + 1 - position_);
  token.text = token.text.substr(1, token.text.size() - 2);
  if (token.text.find('\\') != std::string_view::npos) {
    throw ExpressionFault{token.column, "a string must not contain a backslash: there are no escapes"};
  }
  return token;
}

Token ExpressionLexer::word() {
  std::size_t length = 1;
  while (position_ + length < text_.size() && is_word(text_[position_ + length])) ++length;
  const bool keyword = std::ranges::find(kKeywords, text_.substr(position_, length)) != kKeywords.end();
  return take(keyword ? TokenKind::keyword : TokenKind::name, length);
}

Token ExpressionLexer::symbol() {
  for (const std::string_view symbol : kSymbols) {
    if (text_.substr(position_).starts_with(symbol)) return take(TokenKind::symbol, symbol.size());
  }
  const char c = text_[position_];
  const bool printable = c > ' ' && c <= '~';
  throw ExpressionFault{column(),
                        printable ? fmt::format("unexpected character '{}'", c)
                                  : fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c))};
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::end:
      return "the end";
    case TokenKind::string:
      return "a string";
    default:
      return fmt::format("'{}'", token.text);
  }
}

}  // namespace ak

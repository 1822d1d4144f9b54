// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <system_error>

namespace ak::emulator {
namespace {

enum CharClass : std::uint8_t {
  kBlank = 1,
  kDigit = 2,
  kNameStart = 4,
  kNamePart = 8,
  kSingle = 16,   ///< a mark by itself
  kPairEnd = 32,  ///< the second character of a mark of two
};

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<unsigned char>(c)] = kBlank;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = kDigit | kNamePart;
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = kNameStart | kNamePart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<std::size_t>(c)] = kNameStart | kNamePart;
  for (const char c : {'_', '$'}) classes[static_cast<unsigned char>(c)] = kNameStart | kNamePart;
  for (const char c : std::string_view("{}()[]<>,;:+-*/%!~&|^?=@"))
    classes[static_cast<unsigned char>(c)] = kSingle;
  for (const char c : std::string_view("<>=&|")) classes[static_cast<unsigned char>(c)] |= kPairEnd;
  return classes;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is(char c, CharClass wanted) { return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0; }

constexpr std::array<std::string_view, 8> kPairs = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};

}  // namespace

void Lexer::reject(Token& token, std::string_view message) {
  token.kind = TokenKind::bad;
  token.text = message;
  next_ = end_;
}

inline void Lexer::take_until(const char* end, TokenKind kind, Token& token) {
  token.kind = kind;
  token.text = {next_, static_cast<std::size_t>(end - next_)};
  next_ = end;
}

inline const char* Lexer::end_of_name(const char* at) const {
  while (at != end_ && is(*at, kNamePart)) ++at;
  return at;
}

/// A name, or one behind a `%`: where it ends; null where there is none.
inline const char* Lexer::end_of_word() const {
  const char* const first = next_ + (peek() == '%' ? 1 : 0);
  return first != end_ && is(*first, kNameStart) ? end_of_name(first + 1) : nullptr;
}

/// False where a comment never ends.
inline bool Lexer::skip_blanks() {
  while (next_ != end_) {
    if (is(*next_, kBlank)) {
      line_ += *next_ == '\n' ? 1 : 0;
      ++next_;
    } else if (*next_ != '/' || (peek(1) != '/' && peek(1) != '*')) {
      return true;
    } else if (!skip_comment()) {
      return false;
    }
  }
  return true;
}

bool Lexer::skip_comment() {
  const std::string_view rest(next_, static_cast<std::size_t>(end_ - next_));
  const bool is_line = rest[1] == '/';
  const std::size_t end = is_line ? rest.find('\n') : rest.find("*/", 2);
  if (end == rest.npos && !is_line) return false;
  const char* const behind = end == rest.npos ? end_ : next_ + end + (is_line ? 0 : 2);
  line_ += static_cast<int>(std::count(next_, behind, '\n'));
  next_ = behind;
  return true;
}

Token Lexer::next() {
  const char* const before = next_;
  const bool blanks_end = skip_blanks();
  Token token;
  token.glued = next_ == before && before != begin_;
  token.line = line_;
  if (!blanks_end) {
    reject(token, "a comment does not end");
  } else if (next_ == end_) {
    return token;
  } else if (const char* const word_end = end_of_word()) {
    take_until(word_end, TokenKind::word, token);
  } else if (*next_ == '.') {
    read_dotted(token);
  } else if (is(*next_, kDigit)) {
    read_number(token);
  } else if (*next_ == '"') {
    read_string(token);
  } else {
    read_punctuation(token);
  }
  return token;
}

/// Takes what `read` reads behind blanks and comments, where it says that this is what is wanted.
template <class Read>
inline bool Lexer::accept(Read read) {
  const char* const before = next_;
  const int line = line_;
  if (skip_blanks() && next_ != end_ && read()) return true;
  next_ = before;
  line_ = line;
  return false;
}

bool Lexer::accept_integer() {
  return accept([&] {
    Token token;
    if (is(*next_, kDigit)) read_number(token);
    return token.kind == TokenKind::integer;
  });
}

bool Lexer::accept_word(std::string_view text) {
  return accept([&] {
    const char* const end = end_of_word();
    if (end == nullptr || (!text.empty() && std::string_view(next_, end) != text)) return false;
    next_ = end;
    return true;
  });
}

/// @param mark one that begins no other
bool Lexer::accept_mark(char mark) {
  return accept([&] { return *next_++ == mark; });
}

void Lexer::accept_place() {
  for (int i = 0; i < 3; ++i) static_cast<void>(accept_integer());
}

/// `.loc 1 20 3, function_name $L__info_string0 + 4, inlined_at 1 30 5`. Where it ends is read from its grammar, not
/// from lines, so that nothing hides behind it.
void Lexer::read_location(Token& token) {
  accept_place();
  while (accept_mark(',')) {
    if (accept_word("inlined_at")) {
      accept_place();
    } else if (accept_word("function_name") && accept_word({}) && accept_mark('+')) {
      static_cast<void>(accept_integer());
    }
  }
  token.kind = TokenKind::location;
  token.text = {token.text.data(), next_};
}

void Lexer::read_dotted(Token& token) {
  const char* end = end_of_name(++next_);
  while (end_ - end > 2 && end[0] == ':' && end[1] == ':' && is(end[2], kNamePart))
    end = end_of_name(end + 2);
  take_until(end, TokenKind::dotted, token);
  if (token.text.empty()) return reject(token, "a dot without a name");
  if (token.text == "loc") read_location(token);
}

void Lexer::read_string(Token& token) {
  // File names hold backslashes unescaped on some hosts: the next quote ends the string.
  const char* const end = std::find_if(++next_, end_, [](char c) { return c == '"' || c == '\n'; });
  if (end == end_ || *end != '"') return reject(token, "a string does not end");
  take_until(end, TokenKind::string, token);
  ++next_;
}

void Lexer::read_punctuation(Token& token) {
  const bool may_be_pair = is(peek(1), kPairEnd);
  if (may_be_pair && std::ranges::find(kPairs, std::string_view(next_, 2)) != kPairs.end())
    return take_until(next_ + 2, TokenKind::punctuation, token);
  if (!is(*next_, kSingle)) return reject(token, "a character that PTX does not have");
  take_until(next_ + 1, TokenKind::punctuation, token);
}

void Lexer::read_number(Token& token) {
  const char second = *next_ == '0' ? peek(1) : '\0';
  if (second == 'f' || second == 'F' || second == 'd' || second == 'D') return read_real_pattern(token);
  if (second == 'x' || second == 'X') return read_integer(token, next_ + 2, 16);
  if (second == 'b' || second == 'B') return read_integer(token, next_ + 2, 2);
  constexpr std::ptrdiff_t kSafeDigits = 18;  // of a number that is far below 2^63
  const char* end = next_;
  std::uint64_t value = 0;
  for (; end != end_ && is(*end, kDigit); ++end) value = value * 10 + static_cast<std::uint64_t>(*end - '0');
  const char behind = end != end_ ? *end : '\0';
  if (behind == '.' || behind == 'e' || behind == 'E') return read_decimal_real(token);
  if (is(second, kDigit) || is(behind, kNamePart) || end - next_ > kSafeDigits)
    return read_integer(token, next_, is(second, kDigit) ? 8 : 10);
  token.bits = value;
  take_until(end, TokenKind::integer, token);
}

void Lexer::read_integer(Token& token, const char* digits, int base) {
  const auto [end, error] = std::from_chars(std::min(digits, end_), end_, token.bits, base);
  if (error == std::errc::result_out_of_range) return reject(token, "an integer does not fit into 64 bits");
  const bool suffix = end != end_ && (*end == 'U' || *end == 'u');
  const char* const behind = end + (suffix ? 1 : 0);
  if (error != std::errc{} || (behind != end_ && is(*behind, kNamePart)))
    return reject(token, "a malformed integer");
  token.is_unsigned = suffix || (token.bits >> 63) != 0;
  take_until(behind, TokenKind::integer, token);
}

/// 0f and 8, or 0d and 16 hexadecimal digits.
void Lexer::read_real_pattern(Token& token) {
  const bool is_single = next_[1] == 'f' || next_[1] == 'F';
  const std::ptrdiff_t length = 2 + (is_single ? 8 : 16);
  if (length > end_ - next_) return reject(token, "a malformed floating-point constant");
  const char* const end = next_ + length;
  const auto [parsed_end, error] = std::from_chars(next_ + 2, end, token.bits, 16);
  if (error != std::errc{} || parsed_end != end || (end != end_ && is(*end, kNamePart)))
    return reject(token, "a malformed floating-point constant");
  token.type = is_single ? Type::f32 : Type::f64;
  take_until(end, TokenKind::real, token);
}

void Lexer::read_decimal_real(Token& token) {
  double value = 0;
  const auto [end, error] = std::from_chars(next_, end_, value);
  if (error != std::errc{} || (end != end_ && is(*end, kNamePart)))
    return reject(token, "a malformed floating-point constant");
  token.type = Type::f64;
  token.bits = std::bit_cast<std::uint64_t>(value);
  take_until(end, TokenKind::real, token);
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emulator/parse/type.h"

namespace ak::emulator {

enum class TokenKind : std::uint8_t {
  end,
  bad,      ///< `text` says what is wrong
  word,     ///< ld, %r1, $L__BB0_1, _Z3foo
  dotted,   ///< .global, .shared::cta: `text` is without the dot
  integer,  ///< `bits`
  real,     ///< `bits`, the IEEE pattern of `type`
  string,   ///< `text` is without the quotes
  punctuation,
  location,  ///< `.loc` with its numbers and names: `text` is without the dot
};

/// A piece of PTX; its views point into the text the Lexer was given.
struct Token {
  TokenKind kind = TokenKind::end;
  bool glued = false;        ///< nothing is between this and the token before
  bool is_unsigned = false;  ///< of integer: the suffix U, or too large for s64
  Type type = Type::f64;
  int line = 1;  ///< 1-based
  std::string_view text;
  std::uint64_t bits = 0;
};

/// Splits PTX into tokens, one a call.
class Lexer {
 public:
  /// @param line of the text's first character.
  explicit Lexer(std::string_view text, int line = 1)
      : begin_(text.data()), next_(begin_), end_(begin_ + text.size()), line_(line) {}

  /// The next token; `end` again and again once the text is over.
  [[nodiscard]] Token next();

 private:
  [[nodiscard]] char peek(std::ptrdiff_t ahead = 0) const {
    return ahead < end_ - next_ ? next_[ahead] : '\0';
  }
  [[nodiscard]] const char* end_of_name(const char* at) const;
  [[nodiscard]] const char* end_of_word() const;
  void take_until(const char* end, TokenKind kind, Token& token);
  [[nodiscard]] bool skip_blanks();
  [[nodiscard]] bool skip_comment();
  template <class Read>
  [[nodiscard]] bool accept(Read read);
  [[nodiscard]] bool accept_integer();
  [[nodiscard]] bool accept_word(std::string_view text);
  [[nodiscard]] bool accept_mark(char mark);
  void accept_place();
  void read_location(Token& token);
  void read_dotted(Token& token);
  void read_string(Token& token);
  void read_punctuation(Token& token);
  void read_number(Token& token);
  void read_integer(Token& token, const char* digits, int base);
  void read_real_pattern(Token& token);
  void read_decimal_real(Token& token);
  void reject(Token& token, std::string_view message);

  const char* begin_;
  const char* next_;
  const char* end_;
  int line_;
};

/// A text of PTX with its tokens: nearly half of them are of source locations, which most readers pass over, so that
/// these are one token each. The text must outlive it.
struct TokenizedText {
  explicit TokenizedText(std::string_view whole, int line = 1);

  std::string_view text;
  std::vector<Token> tokens;  ///< the last one is `end` or `bad`
};

}  // namespace ak::emulator

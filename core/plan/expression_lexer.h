// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ak {

enum class TokenKind : std::uint8_t { end, integer, real, string, name, keyword, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;        ///< without the quotes for a string; points into the expression
  std::uint64_t magnitude = 0;  ///< of an integer; at most 2^63, so that -9223372036854775808 can be written
  double number = 0;            ///< of a real
  int column = 1;               ///< 1-based, in bytes
};

/// Splits the text of an expression into tokens, one at a time. The text must outlive it.
class ExpressionLexer {
 public:
  /// `reals`: numbers with a fraction or an exponent are tokens; without, they are faults.
  explicit ExpressionLexer(std::string_view text, bool reals = false) : text_(text), reals_(reals) {}

  /// The next token; `end` for ever once the text is used up. @throws ExpressionFault
  [[nodiscard]] Token next();

 private:
  [[nodiscard]] Token integer();
  [[nodiscard]] Token real(std::size_t length);
  [[nodiscard]] std::size_t real_length() const;
  [[nodiscard]] Token string();
  [[nodiscard]] Token word();
  [[nodiscard]] Token symbol();
  [[nodiscard]] Token take(TokenKind kind, std::size_t length);
  [[nodiscard]] int column() const { return static_cast<int>(position_) + 1; }

  std::string_view text_;
  bool reals_ = false;
  std::size_t position_ = 0;
};

/// A token as a message shows it: "'+'", "the end".
[[nodiscard]] std::string describe(const Token& token);

}  // namespace ak

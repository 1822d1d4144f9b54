// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "emulator/parse/lexer.h"

namespace ak::emulator {

/// A token's text suitable for a message: short, and without control characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The text as the parser reads it, one token ahead. The first error is kept and ends the text, so that
/// every loop that stops at the end also stops after an error.
class TokenStream {
 public:
  /// The last token is `end` or `bad`; all must outlive the stream.
  explicit TokenStream(std::span<const Token> tokens);

  [[nodiscard]] const Token& peek() const { return *current_; }
  [[nodiscard]] const Token& peek_second() const;
  const Token& take() {
    const Token& taken = *current_;
    if (!failed()) advance();
    return taken;
  }

  [[nodiscard]] bool at_end() const { return current_->kind == TokenKind::end; }
  [[nodiscard]] bool at(TokenKind kind) const { return current_->kind == kind; }
  [[nodiscard]] bool at(char c) const {
    return current_->kind == TokenKind::punctuation && current_->text.size() == 1 && current_->text[0] == c;
  }
  [[nodiscard]] bool at(TokenKind kind, std::string_view text) const {
    return current_->kind == kind && current_->text == text;
  }

  /// Takes the token if it is that one.
  bool accept(char c) {
    const bool is = at(c);
    if (is) advance();
    return is;
  }
  bool accept(TokenKind kind, std::string_view text) {
    const bool is = at(kind, text);
    if (is) advance();
    return is;
  }
  /// As accept, but what else is there is an error.
  bool expect(char c);
  bool expect_word(std::string_view& text, std::string_view what);
  bool expect_integer(std::uint64_t& value, std::uint64_t maximum, std::string_view what);

  /// Always false. The line is the current token's unless given.
  bool fail(std::string message, int line = 0);
  /// Fails with "expected <what>, found <token>".
  bool fail_expected(std::string_view what);
  [[nodiscard]] bool failed() const { return input_error_.has_value(); }
  [[nodiscard]] const std::optional<InputError>& input_error() const { return input_error_; }

 private:
  void advance() {
    if (current_ == last_) return;
    ++current_;
    if (current_->kind == TokenKind::bad) check();
  }
  void check();

  const Token* current_;
  const Token* last_;
  std::optional<InputError> input_error_;
};

}  // namespace ak::emulator

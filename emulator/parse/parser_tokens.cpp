// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_tokens.h"

#include <fmt/format.h>

#include <utility>

namespace ak::emulator {
namespace {

constexpr Token kEnd;

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 80;  // a mangled name's beginning shows which it is
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > kShown ? "...'" : "'");
}

TokenStream::TokenStream(std::span<const Token> tokens) : current_(tokens.data()), last_(&tokens.back()) {
  check();
}

void TokenStream::check() {
  if (current_->kind == TokenKind::bad) fail(std::string(current_->text));
}

const Token& TokenStream::peek_second() const { return failed() || current_ == last_ ? kEnd : current_[1]; }

bool TokenStream::expect(char c) { return accept(c) || fail_expected(fmt::format("'{}'", c)); }

bool TokenStream::expect_word(std::string_view& text, std::string_view what) {
  if (!at(TokenKind::word)) return fail_expected(what);
  text = take().text;
  return true;
}

bool TokenStream::expect_integer(std::uint64_t& value, std::uint64_t maximum, std::string_view what) {
  if (!at(TokenKind::integer)) return fail_expected(what);
  if (current_->bits > maximum) return fail(fmt::format("{} is more than {}", what, maximum));
  value = take().bits;
  return true;
}

bool TokenStream::fail(std::string message, int line) {
  if (!failed()) input_error_ = InputError{std::move(message), line != 0 ? line : current_->line};
  current_ = last_ = &kEnd;
  return false;
}

bool TokenStream::fail_expected(std::string_view what) {
  if (at_end()) return fail(fmt::format("expected {}, found the end of the text", what));
  const std::string_view dot = at(TokenKind::dotted) ? "." : "";
  return fail(fmt::format("expected {}, found {}", what, in_quotes(std::string(dot).append(current_->text))));
}

}  // namespace ak::emulator

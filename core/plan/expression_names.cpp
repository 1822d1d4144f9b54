// SPDX-License-Identifier: Apache-2.0
#include "core/plan/expression_names.h"

#include <fmt/format.h>

#include "core/plan/expression_lexer.h"

namespace ak {

std::string with_names_replaced(const Expression& expression, const NameTexts& texts) {
  const std::string_view text = expression.text();
  std::string result;
  std::size_t copied = 0;
  ExpressionLexer lexer(text);
  for (Token token = lexer.next(), next; token.kind != TokenKind::end; token = next) {
    next = lexer.next();
    const bool function = next.kind == TokenKind::symbol && next.text == "(";
    const auto found = token.kind == TokenKind::name && !function ? texts.find(token.text) : texts.end();
    if (found == texts.end()) continue;
    const auto at = static_cast<std::size_t>(token.text.data() - text.data());
    result += fmt::format("{}{}", text.substr(copied, at - copied), found->second);
    copied = at + token.text.size();
  }
  return result += text.substr(copied);
}

std::string literal_text(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return *number < 0 ? fmt::format("({})", *number) : std::to_string(*number);
  return fmt::format("'{}'", std::get<std::string>(value));
}

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_constants.h"

#include <array>
#include <string_view>

namespace ak::emulator {
namespace {

/// Parentheses, operators before a value and arms of `?:` inside each other: people write a handful, and
/// each costs a few frames of the stack.
constexpr int kMaxNesting = 64;
constexpr std::uint64_t kWarpSize = 32;
constexpr int kLowestPrecedence = 1;

struct BinaryOperator {
  std::string_view text;
  int precedence;
};

constexpr std::array<BinaryOperator, 18> kBinaryOperators = {{{"||", 1},
                                                              {"&&", 2},
                                                              {"|", 3},
                                                              {"^", 4},
                                                              {"&", 5},
                                                              {"==", 6},
                                                              {"!=", 6},
                                                              {"<", 7},
                                                              {">", 7},
                                                              {"<=", 7},
                                                              {">=", 7},
                                                              {"<<", 8},
                                                              {">>", 8},
                                                              {"+", 9},
                                                              {"-", 9},
                                                              {"*", 10},
                                                              {"/", 10},
                                                              {"%", 10}}};

std::int64_t as_signed(const Constant& value) { return static_cast<std::int64_t>(value.bits); }

Constant truth(bool value) { return {value ? 1u : 0u, false}; }

bool less(const Constant& a, const Constant& b, bool is_unsigned) {
  return is_unsigned ? a.bits < b.bits : as_signed(a) < as_signed(b);
}

Constant shift(const Constant& a, std::uint64_t count, bool left) {
  if (left) return {count < 64 ? a.bits << count : 0, a.is_unsigned};
  if (a.is_unsigned) return {count < 64 ? a.bits >> count : 0, true};
  return {static_cast<std::uint64_t>(as_signed(a) >> (count < 64 ? count : 63)), false};
}

Constant divide(const Constant& a, const Constant& b, bool remainder, bool is_unsigned) {
  if (is_unsigned) return {remainder ? a.bits % b.bits : a.bits / b.bits, true};
  // The least s64 over -1 overflows in C++; two's complement wraps.
  if (as_signed(b) == -1) return {remainder ? 0 : 0 - a.bits, false};
  const std::int64_t value = remainder ? as_signed(a) % as_signed(b) : as_signed(a) / as_signed(b);
  return {static_cast<std::uint64_t>(value), false};
}

/// `b` is not zero where the operator divides.
Constant apply(std::string_view name, const Constant& a, const Constant& b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  if (name == "||") return truth(a.bits != 0 || b.bits != 0);
  if (name == "&&") return truth(a.bits != 0 && b.bits != 0);
  if (name == "|") return {a.bits | b.bits, is_unsigned};
  if (name == "^") return {a.bits ^ b.bits, is_unsigned};
  if (name == "&") return {a.bits & b.bits, is_unsigned};
  if (name == "==") return truth(a.bits == b.bits);
  if (name == "!=") return truth(a.bits != b.bits);
  if (name == "<") return truth(less(a, b, is_unsigned));
  if (name == ">") return truth(less(b, a, is_unsigned));
  if (name == "<=") return truth(!less(b, a, is_unsigned));
  if (name == ">=") return truth(!less(a, b, is_unsigned));
  if (name == "<<" || name == ">>") return shift(a, b.bits, name == "<<");
  if (name == "+") return {a.bits + b.bits, is_unsigned};
  if (name == "-") return {a.bits - b.bits, is_unsigned};
  if (name == "*") return {a.bits * b.bits, is_unsigned};
  return divide(a, b, name == "%", is_unsigned);
}

class ConstantParser {
 public:
  explicit ConstantParser(TokenStream& tokens) : tokens_(tokens) {}

  bool parse_conditional(Constant& value) {
    const Nesting nesting(*this);
    if (!nesting.allowed || !parse_binary(value, kLowestPrecedence)) return false;
    if (!tokens_.accept('?')) return true;
    Constant when_true;
    Constant when_false;
    if (!parse_conditional(when_true) || !tokens_.expect(':') || !parse_conditional(when_false)) return false;
    value = value.bits != 0 ? when_true : when_false;
    return true;
  }

 private:
  struct Nesting {
    explicit Nesting(ConstantParser& owner) : parser(owner) {
      allowed = ++parser.depth_ <= kMaxNesting;
      if (!allowed) parser.tokens_.fail("a constant expression is nested too deeply");
    }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ConstantParser& parser;
    bool allowed;
  };

  [[nodiscard]] const BinaryOperator* binary_operator() const {
    if (!tokens_.at(TokenKind::punctuation)) return nullptr;
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (candidate.text == tokens_.peek().text) return &candidate;
    }
    return nullptr;
  }

  /// Recursion is bounded by the number of precedences.
  bool parse_binary(Constant& value, int lowest) {
    if (!parse_unary(value)) return false;
    for (const BinaryOperator* op = binary_operator(); op != nullptr && op->precedence >= lowest;
         op = binary_operator()) {
      tokens_.take();
      Constant right;
      if (!parse_binary(right, op->precedence + 1)) return false;
      if ((op->text == "/" || op->text == "%") && right.bits == 0) {
        return tokens_.fail("a constant expression divides by zero");
      }
      value = apply(op->text, value, right);
    }
    return !tokens_.failed();
  }

  bool parse_unary(Constant& value) {
    const Nesting nesting(*this);
    if (!nesting.allowed) return false;
    if (tokens_.accept('+')) return parse_unary(value);
    if (tokens_.at('-') || tokens_.at('!') || tokens_.at('~')) {
      const char op = tokens_.take().text.front();
      if (!parse_unary(value)) return false;
      value = op == '!' ? truth(value.bits == 0)
                        : Constant{op == '-' ? 0 - value.bits : ~value.bits, value.is_unsigned};
      return true;
    }
    return tokens_.accept('(') ? parse_parenthesised(value) : parse_literal(value);
  }

  bool parse_parenthesised(Constant& value) {
    const bool to_unsigned = tokens_.accept(TokenKind::dotted, "u64");
    if (to_unsigned || tokens_.accept(TokenKind::dotted, "s64")) {
      if (!tokens_.expect(')') || !parse_unary(value)) return false;
      value.is_unsigned = to_unsigned;
      return true;
    }
    return parse_conditional(value) && tokens_.expect(')');
  }

  bool parse_literal(Constant& value) {
    if (tokens_.accept(TokenKind::word, "WARP_SZ")) {
      value = {kWarpSize, false};
      return true;
    }
    if (!tokens_.at(TokenKind::integer)) return tokens_.fail_expected("an integer constant");
    const Token& token = tokens_.take();
    value = {token.bits, token.is_unsigned};
    return !tokens_.failed();
  }

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace

bool at_constant(const TokenStream& tokens) {
  return tokens.at(TokenKind::integer) || tokens.at('-') || tokens.at('+') || tokens.at('~') ||
         tokens.at('!') || tokens.at('(') || tokens.at(TokenKind::word, "WARP_SZ");
}

bool parse_constant(TokenStream& tokens, Constant& value) {
  return ConstantParser(tokens).parse_conditional(value);
}

bool at_real(const TokenStream& tokens) {
  return tokens.at(TokenKind::real) || (tokens.at('-') && tokens.peek_second().kind == TokenKind::real);
}

bool parse_real(TokenStream& tokens, Type& type, std::uint64_t& bits) {
  const bool minus = tokens.accept('-');
  if (!tokens.at(TokenKind::real)) return tokens.fail_expected("a floating-point constant");
  const Token& token = tokens.take();
  type = token.type;
  bits = token.bits ^ (minus ? std::uint64_t{1} << (token.type == Type::f32 ? 31 : 63) : 0);
  return !tokens.failed();
}

}  // namespace ak::emulator

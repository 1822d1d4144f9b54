// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <span>

#include "core/plan/expression_lexer.h"
#include "core/plan/expression_node.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

using Node = Expression::Node;
using NodePointer = std::shared_ptr<const Node>;
using Kind = Node::Kind;

// Limits of the contract (expression.h): hostile text must not exhaust the stack.
constexpr std::size_t kMaxCharacters = 4096;
constexpr int kMaxDepth = 64;
constexpr std::uint64_t kLowestMagnitude = std::uint64_t{1} << 63;

struct OperatorName {
  std::string_view text;
  Operator op;
};
constexpr OperatorName kSums[] = {{"+", Operator::add}, {"-", Operator::subtract}};
constexpr OperatorName kProducts[] = {{"*", Operator::multiply},
                                      {"/", Operator::divide},
                                      {"//", Operator::floor_divide},
                                      {"%", Operator::modulo}};
constexpr OperatorName kComparisons[] = {{"==", Operator::equal},  {"!=", Operator::not_equal},
                                         {"<", Operator::less},    {"<=", Operator::less_equal},
                                         {">", Operator::greater}, {">=", Operator::greater_equal},
                                         {"in", Operator::in}};

/// Recursive descent, one function per level of precedence.
class Parser {
 public:
  Parser(std::string_view text, std::set<std::string>& names, bool reals)
      : lexer_(text, reals), names_(names) {
    advance();
  }

  NodePointer whole_text() {
    NodePointer root = expression();
    if (token_.kind != TokenKind::end)
      fault(fmt::format("expected an operator or the end, found {}", describe(token_)));
    return root;
  }

 private:
  /// One level of nesting; counts while it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth)
        parser_.fault(fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void fault(std::string message) const {
    throw ExpressionFault{token_.column, std::move(message)};
  }

  void advance() { token_ = lexer_.next(); }

  [[nodiscard]] bool at(std::string_view text) const {
    return (token_.kind == TokenKind::symbol || token_.kind == TokenKind::keyword) && token_.text == text;
  }
  bool accept(std::string_view text) {
    if (!at(text)) return false;
    advance();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fault(fmt::format("expected '{}', found {}", text, describe(token_)));
  }

  [[nodiscard]] Node start(Kind kind) const { return Node{.kind = kind, .column = token_.column}; }
  static NodePointer finish(Node&& node) { return std::make_shared<const Node>(std::move(node)); }

  /// A chain of `operand`s joined by one keyword; a single operand stands for itself.
  NodePointer keyword_chain(std::string_view keyword, Kind kind, NodePointer (Parser::*operand)()) {
    Node node = start(kind);
    NodePointer first = (this->*operand)();
    if (!at(keyword)) return first;
    node.children.push_back(std::move(first));
    while (accept(keyword)) node.children.push_back((this->*operand)());
    return finish(std::move(node));
  }

  std::optional<Operator> accept_operator(std::span<const OperatorName> known) {
    for (const OperatorName& entry : known) {
      if (accept(entry.text)) return entry.op;
    }
    return std::nullopt;
  }

  /// As keyword_chain, for arithmetic operators of equal precedence.
  NodePointer operator_chain(std::span<const OperatorName> known, NodePointer (Parser::*operand)()) {
    Node node = start(Kind::arithmetic);
    NodePointer first = (this->*operand)();
    for (int column = token_.column; const auto op = accept_operator(known); column = token_.column) {
      if (node.children.empty()) node.children.push_back(std::move(first));
      node.operators.push_back(*op);
      node.operator_columns.push_back(column);
      node.children.push_back((this->*operand)());
    }
    return node.children.empty() ? first : finish(std::move(node));
  }

  NodePointer expression() {
    const Level level(*this);
    Node node = start(Kind::conditional);
    NodePointer value = disjunction();
    if (!accept("if")) return value;
    NodePointer condition = disjunction();
    expect("else");
    node.children = {std::move(condition), std::move(value), expression()};
    return finish(std::move(node));
  }

  NodePointer disjunction() { return keyword_chain("or", Kind::logical_or, &Parser::conjunction); }
  NodePointer conjunction() { return keyword_chain("and", Kind::logical_and, &Parser::negation); }

  NodePointer negation() {
    Node node = start(Kind::logical_not);
    if (!accept("not")) return comparison();
    const Level level(*this);
    node.children.push_back(negation());
    return finish(std::move(node));
  }

  std::optional<Operator> accept_comparison() {
    if (!accept("not")) return accept_operator(kComparisons);
    expect("in");
    return Operator::not_in;
  }

  NodePointer comparison() {
    Node node = start(Kind::comparison);
    NodePointer first = sum();
    for (int column = token_.column; const auto op = accept_comparison(); column = token_.column) {
      const bool after_list = !node.children.empty() && node.children.back()->kind == Kind::list;
      if (after_list)
        throw ExpressionFault{column, "a list cannot be compared; put parentheses around 'x in [...]'"};
      if (node.children.empty()) node.children.push_back(std::move(first));
      node.operators.push_back(*op);
      node.operator_columns.push_back(column);
      const bool membership = *op == Operator::in || *op == Operator::not_in;
      node.children.push_back(membership ? list() : sum());
    }
    return node.children.empty() ? first : finish(std::move(node));
  }

  /// `[a, b]` or `(a, b)`, only after `in`. As in Python, `(a)` is not a tuple.
  NodePointer list() {
    Node node = start(Kind::list);
    const bool tuple = at("(");
    if (!tuple && !at("["))
      fault(fmt::format("expected a list or tuple after 'in', found {}", describe(token_)));
    advance();
    const std::string_view close = tuple ? ")" : "]";
    bool comma = true;
    while (!at(close)) {
      if (!comma) fault(fmt::format("expected ',' or '{}', found {}", close, describe(token_)));
      node.children.push_back(expression());
      comma = accept(",");
    }
    if (tuple && node.children.size() == 1 && !comma) fault("expected ',': a tuple of one is written '(x,)'");
    advance();
    return finish(std::move(node));
  }

  NodePointer sum() { return operator_chain(kSums, &Parser::term); }
  NodePointer term() { return operator_chain(kProducts, &Parser::factor); }

  NodePointer factor() {
    if (!at("+") && !at("-")) return power();
    const Level level(*this);
    Node node = start(at("-") ? Kind::minus : Kind::plus);
    advance();
    if (node.kind == Kind::minus && token_.kind == TokenKind::integer &&
        token_.magnitude == kLowestMagnitude) {
      return lowest_integer();
    }
    node.children.push_back(factor());
    return finish(std::move(node));
  }

  /// -9223372036854775808, whose digits alone do not fit.
  NodePointer lowest_integer() {
    Node node = start(Kind::literal);
    advance();
    if (at("**")) throw ExpressionFault{node.column, "the integer does not fit in 64 bits"};
    node.literal = std::numeric_limits<std::int64_t>::min();
    return finish(std::move(node));
  }

  NodePointer power() {
    Node node = start(Kind::arithmetic);
    NodePointer base = primary();
    const int column = token_.column;
    if (!accept("**")) return base;
    const Level level(*this);
    node.operators = {Operator::power};
    node.operator_columns = {column};
    node.children = {std::move(base), factor()};  // binds to the right, and `2 ** -x` is allowed
    return finish(std::move(node));
  }

  NodePointer primary() {
    switch (token_.kind) {
      case TokenKind::integer:
        return integer();
      case TokenKind::real:
        return real();
      case TokenKind::string:
        return literal(std::string(token_.text));
      case TokenKind::name:
        return name_or_call();
      default:
        break;
    }
    if (at("True") || at("False")) return literal(std::int64_t{at("True") ? 1 : 0});
    if (!accept("(")) fault(fmt::format("expected a number, a name or '(', found {}", describe(token_)));
    NodePointer inner = expression();
    expect(")");
    return inner;
  }

  NodePointer literal(Value value) {
    Node node = start(Kind::literal);
    node.literal = std::move(value);
    advance();
    return finish(std::move(node));
  }

  NodePointer integer() {
    if (token_.magnitude == kLowestMagnitude) fault("the integer does not fit in 64 bits");
    return literal(static_cast<std::int64_t>(token_.magnitude));
  }

  NodePointer real() {
    Node node = start(Kind::literal);
    node.real = token_.number;
    advance();
    return finish(std::move(node));
  }

  NodePointer name_or_call() {
    Node node = start(Kind::name);
    node.name = std::string(token_.text);
    advance();
    if (accept("(")) return call(std::move(node));
    names_.insert(node.name);
    return finish(std::move(node));
  }

  NodePointer call(Node node) {
    node.kind = Kind::call;
    node.function = find_function(node.name);
    if (node.function == nullptr) {
      const std::vector<std::string> known = function_names();
      throw ExpressionFault{node.column, fmt::format("unknown function '{}'{}; known: {}", node.name,
                                                     did_you_mean(node.name, known), fmt::join(known, ", "))};
    }
    for (bool comma = true; !at(")"); comma = accept(",")) {
      if (!comma) fault(fmt::format("expected ',' or ')', found {}", describe(token_)));
      node.children.push_back(expression());
    }
    advance();
    check_argument_count(node);
    return finish(std::move(node));
  }

  static void check_argument_count(const Node& node) {
    const FunctionInfo& function = *node.function;
    const std::size_t count = node.children.size();
    if (count >= function.minimum_arguments && count <= function.maximum_arguments) return;
    const std::string_view at_least =
        function.maximum_arguments > function.minimum_arguments ? "at least " : "";
    throw ExpressionFault{node.column, fmt::format("{} takes {}{} argument{}, not {}", function.name,
                                                   at_least, function.minimum_arguments,
                                                   function.minimum_arguments == 1 ? "" : "s", count)};
  }

  ExpressionLexer lexer_;
  std::set<std::string>& names_;
  Token token_;
  int depth_ = 0;
};

}  // namespace

std::shared_ptr<const Expression::Node> parse_expression_tree(std::string_view text,
                                                              std::set<std::string>& names, bool reals) {
  if (text.size() > kMaxCharacters) {
    throw ExpressionFault{static_cast<int>(kMaxCharacters) + 1,
                          fmt::format("the expression is longer than {} characters", kMaxCharacters)};
  }
  return Parser(text, names, reals).whole_text();
}

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#include "core/plan/known_value.h"

#include <algorithm>

#include "core/plan/expression_node.h"

namespace ak {
namespace {

using Node = Expression::Node;

bool is_true(const Value& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? *integer != 0 : !std::get<std::string>(value).empty();
}

/// Walks the tree with three-valued logic. @throws ExpressionFault
class KnownPart {
 public:
  explicit KnownPart(const Environment& known) : known_(known) {}

  [[nodiscard]] std::optional<Value> value(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::literal:
        return node.literal;
      case Node::Kind::name:
        return named(node);
      case Node::Kind::plus:
        return value(*node.children[0]);
      case Node::Kind::minus:
        return negated(node);
      case Node::Kind::arithmetic:
        return arithmetic(node);
      case Node::Kind::conditional:
        return conditional(node);
      case Node::Kind::call:
        return call(node);
      case Node::Kind::logical_not:
      case Node::Kind::logical_and:
      case Node::Kind::logical_or:
      case Node::Kind::comparison:
        break;
      case Node::Kind::list:
        return std::nullopt;
    }
    // `3 and 5` is 5: the value of these is not needed where only their truth is.
    const std::optional<bool> decided = truth(node);
    if (!decided || (*decided && node.kind != Node::Kind::comparison && node.kind != Node::Kind::logical_not))
      return std::nullopt;
    return Value{std::int64_t{*decided}};
  }

  [[nodiscard]] std::optional<bool> truth(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::logical_not:
        if (const auto operand = truth(*node.children[0])) return !*operand;
        return std::nullopt;
      case Node::Kind::logical_and:
        return joined(node, false);
      case Node::Kind::logical_or:
        return joined(node, true);
      case Node::Kind::comparison:
        return comparison(node);
      default:
        if (const auto known = value(node)) return is_true(*known);
        return std::nullopt;
    }
  }

 private:
  [[nodiscard]] std::optional<Value> named(const Node& node) const {
    const auto found = known_.find(node.name);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] std::optional<std::int64_t> integer(const Node& node) const {
    const auto known = value(node);
    const auto* found = known ? std::get_if<std::int64_t>(&*known) : nullptr;
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }

  [[nodiscard]] std::optional<Value> negated(const Node& node) const {
    const auto operand = integer(*node.children[0]);
    return operand ? std::optional<Value>(checked_negate(*operand, node.column)) : std::nullopt;
  }

  [[nodiscard]] std::optional<Value> arithmetic(const Node& node) const {
    std::optional<std::int64_t> result = integer(*node.children[0]);
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
      const auto right = integer(*node.children[i + 1]);
      if (node.operators[i] == Operator::modulo && right == 1) {
        result = 0;
      } else if (result && right) {
        result = apply_arithmetic(node.operators[i], *result, *right, node.operator_columns[i]);
      } else {
        result.reset();
      }
    }
    return result ? std::optional<Value>(*result) : std::nullopt;
  }

  /// `and` (deciding false) and `or` (deciding true): one operand that decides is enough.
  [[nodiscard]] std::optional<bool> joined(const Node& node, bool deciding) const {
    bool all_known = true;
    for (const auto& child : node.children) {
      const std::optional<bool> operand = truth(*child);
      if (operand == deciding) return deciding;
      all_known = all_known && operand.has_value();
    }
    return all_known ? std::optional(!deciding) : std::nullopt;
  }

  /// `a < b < c` is false where one of its two is.
  [[nodiscard]] std::optional<bool> comparison(const Node& node) const {
    bool all_known = true;
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
      const std::optional<bool> one = compared(node, i);
      if (one == false) return false;
      all_known = all_known && one.has_value();
    }
    return all_known ? std::optional(true) : std::nullopt;
  }

  [[nodiscard]] std::optional<bool> compared(const Node& node, std::size_t index) const {
    const Operator op = node.operators[index];
    const auto left = value(*node.children[index]);
    if (!left) return std::nullopt;
    if (op == Operator::in || op == Operator::not_in) return member(*left, *node.children[index + 1], op);
    const auto right = value(*node.children[index + 1]);
    if (!right) return std::nullopt;
    if (op == Operator::equal) return *left == *right;
    if (op == Operator::not_equal) return *left != *right;
    const auto* a = std::get_if<std::int64_t>(&*left);
    const auto* b = std::get_if<std::int64_t>(&*right);
    if (a == nullptr || b == nullptr) return std::nullopt;
    if (op == Operator::less) return *a < *b;
    if (op == Operator::less_equal) return *a <= *b;
    return op == Operator::greater ? *a > *b : *a >= *b;
  }

  [[nodiscard]] std::optional<bool> member(const Value& wanted, const Node& list, Operator op) const {
    bool all_known = true;
    for (const auto& child : list.children) {
      const auto element = value(*child);
      if (element == wanted) return op == Operator::in;
      all_known = all_known && element.has_value();
    }
    return all_known ? std::optional(op == Operator::not_in) : std::nullopt;
  }

  [[nodiscard]] std::optional<Value> conditional(const Node& node) const {
    if (const auto condition = truth(*node.children[0])) return value(*node.children[*condition ? 1 : 2]);
    const auto left = value(*node.children[1]), right = value(*node.children[2]);
    return left && left == right ? left : std::nullopt;
  }

  [[nodiscard]] std::optional<Value> call(const Node& node) const {
    std::vector<std::int64_t> arguments;
    for (const auto& child : node.children) {
      const auto argument = integer(*child);
      if (!argument) return std::nullopt;
      arguments.push_back(*argument);
    }
    return node.function->apply(arguments, node.column);
  }

  const Environment& known_;
};

std::shared_ptr<const Node> tree_of(const Expression& expression) {
  std::set<std::string> names;
  return parse_expression_tree(expression.text(), names);
}

}  // namespace

std::optional<Value> known_value(const Expression& expression, const Environment& known) {
  try {
    return KnownPart(known).value(*tree_of(expression));
  } catch (const ExpressionFault&) {
    return std::nullopt;
  }
}

std::optional<bool> known_truth(const Expression& expression, const Environment& known) {
  try {
    return KnownPart(known).truth(*tree_of(expression));
  } catch (const ExpressionFault&) {
    return std::nullopt;
  }
}

}  // namespace ak

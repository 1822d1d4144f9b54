// SPDX-License-Identifier: Apache-2.0
#include "core/plan/expression.h"

#include <fmt/format.h>

#include "core/plan/expression_node.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

using Node = Expression::Node;
using Kind = Node::Kind;

std::string found_type(const Value& value) {
  return std::holds_alternative<std::string>(value) ? "a string" : "an integer";
}

bool truth(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer != 0;
  return !std::get<std::string>(value).empty();
}

Value from_bool(bool value) { return std::int64_t{value ? 1 : 0}; }

std::string unknown_name(const std::string& name, const Environment& environment) {
  constexpr std::size_t kShown = 24;  // enough for a problem's names and short enough to read
  std::vector<std::string> known;
  for (const auto& entry : environment) known.push_back(entry.first);
  std::string message = fmt::format("unknown name '{}'{}", name, did_you_mean(name, known));
  if (known.empty()) return message;
  const bool cut = known.size() > kShown;
  if (cut) known.resize(kShown);
  return fmt::format("{}; known: {}{}", message, fmt::join(known, ", "), cut ? ", ..." : "");
}

/// Walks the tree. @throws ExpressionFault
class Evaluation {
 public:
  explicit Evaluation(const Environment& environment) : environment_(environment) {}

  [[nodiscard]] Value value(const Node& node) const {
    switch (node.kind) {
      case Kind::literal:
        return node.literal;
      case Kind::name:
        return lookup(node);
      case Kind::plus:
        return integer(*node.children[0]);
      case Kind::minus:
        return checked_negate(integer(*node.children[0]), node.column);
      case Kind::logical_not:
        return from_bool(!truth(value(*node.children[0])));
      case Kind::logical_and:
        return first_with_truth(node, false);
      case Kind::logical_or:
        return first_with_truth(node, true);
      case Kind::arithmetic:
        return arithmetic(node);
      case Kind::comparison:
        return comparison(node);
      case Kind::conditional:
        return value(*node.children[truth(value(*node.children[0])) ? 1 : 2]);
      case Kind::call:
        return call(node);
      case Kind::list:
        break;
    }
    AK_ASSERT(false, "the parser puts lists only after 'in'");
    return {};
  }

 private:
  [[nodiscard]] Value lookup(const Node& node) const {
    const auto found = environment_.find(node.name);
    if (found == environment_.end())
      throw ExpressionFault{node.column, unknown_name(node.name, environment_)};
    return found->second;
  }

  [[nodiscard]] std::int64_t integer(const Node& node) const {
    const Value result = value(node);
    if (const auto* found = std::get_if<std::int64_t>(&result)) return *found;
    throw ExpressionFault{node.column, "expected an integer, found a string"};
  }

  /// Python's `and` (wanted false) and `or` (wanted true): the first operand that decides, else the last.
  [[nodiscard]] Value first_with_truth(const Node& node, bool wanted) const {
    Value result;
    for (const auto& child : node.children) {
      result = value(*child);
      if (truth(result) == wanted) break;
    }
    return result;
  }

  [[nodiscard]] Value arithmetic(const Node& node) const {
    std::int64_t result = integer(*node.children[0]);
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
      result = apply_arithmetic(node.operators[i], result, integer(*node.children[i + 1]),
                                node.operator_columns[i]);
    }
    return result;
  }

  /// `a < b < c` means `a < b and b < c` with b evaluated once and c only when a < b.
  [[nodiscard]] Value comparison(const Node& node) const {
    Value left = value(*node.children[0]);
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
      const Node& operand = *node.children[i + 1];
      if (operand.kind == Kind::list) {  // always the last one of a chain
        return from_bool(is_member(left, operand) == (node.operators[i] == Operator::in));
      }
      Value right = value(operand);
      if (!holds(node.operators[i], left, right, node.operator_columns[i])) return from_bool(false);
      left = std::move(right);
    }
    return from_bool(true);
  }

  [[nodiscard]] bool is_member(const Value& wanted, const Node& list) const {
    bool found = false;  // no early return: Python evaluates the whole list first, and so meets its errors
    for (const auto& element : list.children) found = value(*element) == wanted || found;
    return found;
  }

  [[nodiscard]] static bool holds(Operator op, const Value& left, const Value& right, int column) {
    if (op == Operator::equal) return left == right;
    if (op == Operator::not_equal) return left != right;
    const auto* a = std::get_if<std::int64_t>(&left);
    const auto* b = std::get_if<std::int64_t>(&right);
    if (a == nullptr || b == nullptr) {
      throw ExpressionFault{column,
                            fmt::format("cannot order {} and {}", found_type(left), found_type(right))};
    }
    switch (op) {
      case Operator::less:
        return *a < *b;
      case Operator::less_equal:
        return *a <= *b;
      case Operator::greater:
        return *a > *b;
      default:
        return *a >= *b;
    }
  }

  [[nodiscard]] Value call(const Node& node) const {
    std::vector<std::int64_t> arguments;
    for (const auto& child : node.children) arguments.push_back(integer(*child));
    return node.function->apply(arguments, node.column);
  }

  const Environment& environment_;
};

InputError reject(const ExpressionFault& fault) {
  return InputError{fmt::format("column {}: {}", fault.column, fault.message)};
}

}  // namespace

std::string to_string(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

Result<Expression> Expression::parse(std::string_view text) {
  try {
    std::set<std::string> names;
    std::shared_ptr<const Node> root = parse_expression_tree(text, names);
    return Expression(std::string(text), std::move(root), std::move(names));
  } catch (const ExpressionFault& fault) {
    return reject(fault);
  }
}

Result<Value> Expression::evaluate(const Environment& environment) const {
  try {
    return Evaluation(environment).value(*root_);
  } catch (const ExpressionFault& fault) {
    return reject(fault);
  }
}

Result<std::int64_t> Expression::evaluate_integer(const Environment& environment) const {
  const Result<Value> value = evaluate(environment);
  if (!value) return value.error();
  if (const auto* integer = std::get_if<std::int64_t>(&*value)) return *integer;
  return InputError{"expected an integer, the expression gives a string"};
}

Result<bool> Expression::evaluate_bool(const Environment& environment) const {
  const Result<Value> value = evaluate(environment);
  if (!value) return value.error();
  return truth(*value);
}

}  // namespace ak

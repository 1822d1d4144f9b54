// SPDX-License-Identifier: Apache-2.0
#include "codegen/export/cpp_expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "core/error.h"
#include "core/plan/expression_node.h"

namespace ak::codegen {
namespace {

using Node = Expression::Node;
using Kind = Node::Kind;

struct OperatorText {
  Operator op;
  std::string_view format;  ///< of the operands' texts
};
constexpr std::array kOperators{
    OperatorText{Operator::add, "({} + {})"},
    OperatorText{Operator::subtract, "({} - {})"},
    OperatorText{Operator::multiply, "({} * {})"},
    OperatorText{Operator::divide, "exact_div({}, {})"},
    OperatorText{Operator::floor_divide, "floor_div({}, {})"},
    OperatorText{Operator::modulo, "({} % {})"},
    OperatorText{Operator::power, "power({}, {})"},
    OperatorText{Operator::equal, "({} == {})"},
    OperatorText{Operator::not_equal, "({} != {})"},
    OperatorText{Operator::less, "({} < {})"},
    OperatorText{Operator::less_equal, "({} <= {})"},
    OperatorText{Operator::greater, "({} > {})"},
    OperatorText{Operator::greater_equal, "({} >= {})"},
};

std::string joined(Operator op, const std::string& left, const std::string& right) {
  for (const OperatorText& entry : kOperators)
    if (entry.op == op) return fmt::format(fmt::runtime(entry.format), left, right);
  AK_ASSERT(false, "`in` is written by its own function");
  return "";
}

bool truth(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer != 0;
  return !std::get<std::string>(value).empty();
}

/// Walks the tree. @throws ExpressionFault
class Writer {
 public:
  Writer(const Environment& constants, const std::map<std::string, std::string>& variables)
      : constants_(constants), variables_(variables) {}

  [[nodiscard]] CppExpression write(const Node& node) const {
    switch (node.kind) {
      case Kind::literal:
        return known(node.literal);
      case Kind::name:
        return name(node);
      case Kind::plus:
        return write(*node.children[0]);
      case Kind::minus:
        return negated(node);
      case Kind::logical_not:
        return inverted(write(*node.children[0]));
      case Kind::logical_and:
        return decided(node, 0, false);
      case Kind::logical_or:
        return decided(node, 0, true);
      case Kind::arithmetic:
        return arithmetic(node);
      case Kind::comparison:
        return comparison(node, 0);
      case Kind::conditional:
        return conditional(node);
      case Kind::call:
        return call(node);
      case Kind::list:
        break;
    }
    AK_ASSERT(false, "the parser puts lists only after 'in'");
    return {};
  }

 private:
  [[nodiscard]] static CppExpression known(const Value& value) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    return {.code = integer != nullptr ? fmt::format("Whole({})", *integer) : "", .known = value};
  }
  [[nodiscard]] static CppExpression unknown(std::string code) {
    return {.code = std::move(code), .known = {}};
  }
  [[nodiscard]] static std::string text(const CppExpression& value, int column) {
    if (value.code.empty()) throw ExpressionFault{column, "a string would have to be known to the program"};
    return value.code;
  }
  [[nodiscard]] static std::int64_t integer(const CppExpression& value, int column) {
    if (const auto* found = std::get_if<std::int64_t>(&*value.known)) return *found;
    throw ExpressionFault{column, "expected an integer, found a string"};
  }

  [[nodiscard]] CppExpression name(const Node& node) const {
    if (const auto constant = constants_.find(node.name); constant != constants_.end())
      return known(constant->second);
    if (const auto variable = variables_.find(node.name); variable != variables_.end())
      return unknown(variable->second);
    throw ExpressionFault{node.column, fmt::format("unknown name '{}'", node.name)};
  }

  [[nodiscard]] CppExpression negated(const Node& node) const {
    const CppExpression value = write(*node.children[0]);
    if (value.known) return known(checked_negate(integer(value, node.column), node.column));
    return unknown(fmt::format("(Whole(0) - {})", value.code));
  }

  [[nodiscard]] static CppExpression inverted(const CppExpression& value) {
    if (value.known) return known(std::int64_t{truth(*value.known) ? 0 : 1});
    return unknown(fmt::format("({} == Whole(0))", value.code));
  }

  /// `and` (wanted false) and `or` (wanted true) from the operand at `index` on.
  [[nodiscard]] CppExpression decided(const Node& node, std::size_t index, bool wanted) const {
    const CppExpression value = write(*node.children[index]);
    if (index + 1 == node.children.size()) return value;
    if (value.known) return truth(*value.known) == wanted ? value : decided(node, index + 1, wanted);
    const std::string rest = text(decided(node, index + 1, wanted), node.column);
    return unknown(wanted ? fmt::format("(truth({0}) ? {0} : {1})", value.code, rest)
                          : fmt::format("(truth({0}) ? {1} : {0})", value.code, rest));
  }

  [[nodiscard]] CppExpression arithmetic(const Node& node) const {
    CppExpression result = write(*node.children[0]);
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
      const CppExpression right = write(*node.children[i + 1]);
      const int column = node.operator_columns[i];
      result = result.known && right.known
                   ? known(apply_arithmetic(node.operators[i], integer(result, column),
                                            integer(right, column), column))
                   : unknown(joined(node.operators[i], text(result, column), text(right, column)));
    }
    return result;
  }

  /// The chain from the operator at `index` on.
  [[nodiscard]] CppExpression comparison(const Node& node, std::size_t index) const {
    const CppExpression one = single_comparison(node, index);
    if (index + 1 == node.operators.size()) return one;
    if (one.known) return truth(*one.known) ? comparison(node, index + 1) : known(std::int64_t{0});
    return unknown(
        fmt::format("(truth({}) ? {} : Whole(0))", one.code, text(comparison(node, index + 1), node.column)));
  }

  [[nodiscard]] CppExpression single_comparison(const Node& node, std::size_t index) const {
    const CppExpression left = write(*node.children[index]);
    const Node& operand = *node.children[index + 1];
    const Operator op = node.operators[index];
    const int column = node.operator_columns[index];
    if (operand.kind == Kind::list) return member(left, operand, op == Operator::in, column);
    const CppExpression right = write(operand);
    if (left.known && right.known) return known(std::int64_t{holds(op, left, right, column) ? 1 : 0});
    return unknown(joined(op, text(left, column), text(right, column)));
  }

  [[nodiscard]] static bool holds(Operator op, const CppExpression& left, const CppExpression& right,
                                  int column) {
    if (op == Operator::equal) return *left.known == *right.known;
    if (op == Operator::not_equal) return *left.known != *right.known;
    const std::int64_t a = integer(left, column), b = integer(right, column);
    if (op == Operator::less) return a < b;
    if (op == Operator::less_equal) return a <= b;
    return op == Operator::greater ? a > b : a >= b;
  }

  [[nodiscard]] CppExpression member(const CppExpression& wanted, const Node& list, bool in,
                                     int column) const {
    std::string code;
    bool found = false, all_known = wanted.known.has_value();
    for (const auto& child : list.children) {
      const CppExpression element = write(*child);
      if (wanted.known && element.known) {
        found = found || *wanted.known == *element.known;
        continue;
      }
      all_known = false;
      code += fmt::format("{}truth({} == {})", code.empty() ? "" : " || ", text(wanted, column),
                          text(element, column));
    }
    if (found || all_known || code.empty()) return known(std::int64_t{found == in ? 1 : 0});
    return unknown(fmt::format("Whole({}({}) ? 1 : 0)", in ? "" : "!", code));
  }

  [[nodiscard]] CppExpression conditional(const Node& node) const {
    const CppExpression condition = write(*node.children[0]);
    if (condition.known) return write(*node.children[truth(*condition.known) ? 1 : 2]);
    return unknown(fmt::format("(truth({}) ? {} : {})", condition.code,
                               text(write(*node.children[1]), node.column),
                               text(write(*node.children[2]), node.column)));
  }

  [[nodiscard]] CppExpression call(const Node& node) const {
    std::vector<std::string> texts;
    std::vector<std::int64_t> values;
    for (const auto& child : node.children) {
      const CppExpression argument = write(*child);
      texts.push_back(text(argument, node.column));
      if (argument.known) values.push_back(integer(argument, node.column));
    }
    if (values.size() == texts.size()) return known(node.function->apply(values, node.column));
    return unknown(fmt::format("{}({})", function_name(node.function->name), fmt::join(texts, ", ")));
  }

  /// Not those of <algorithm> and <cstdlib>.
  [[nodiscard]] static std::string function_name(std::string_view name) {
    const bool standard = name == "min" || name == "max" || name == "abs";
    return standard ? fmt::format("{}_of", name) : std::string(name);
  }

  const Environment& constants_;
  const std::map<std::string, std::string>& variables_;
};

}  // namespace

bool CppExpression::never() const { return known && !truth(*known); }
bool CppExpression::always() const { return known && truth(*known); }

Result<CppExpression> cpp_expression(const Expression& expression, const Environment& constants,
                                     const std::map<std::string, std::string>& variables) {
  try {
    std::set<std::string> names;
    return Writer(constants, variables).write(*parse_expression_tree(expression.text(), names));
  } catch (const ExpressionFault& fault) {
    return InputError{fmt::format("'{}': column {}: {}", expression.text(), fault.column, fault.message)};
  }
}

}  // namespace ak::codegen

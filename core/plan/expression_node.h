// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/expression.h"

namespace ak {

enum class Operator : std::uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

struct FunctionInfo;

/// A node of a parsed expression. Chains of operators of equal precedence are one node with many children, so
/// that the depth of the tree, and with it the stack that evaluation needs, follows the nesting of the text
/// and not its length.
struct Expression::Node {
  enum class Kind : std::uint8_t {
    literal,      ///< `real` where there is one, else `literal`
    name,         ///< `name`
    plus,         ///< one child: unary +
    minus,        ///< one child: unary -
    logical_not,  ///< one child
    logical_and,  ///< two children or more
    logical_or,   ///< two children or more
    arithmetic,   ///< children joined from the left by `operators`, one fewer; `power` alone is binary
    comparison,   ///< as arithmetic, chained as in Python; the operand after `in` is a `list`
    conditional,  ///< condition, value if true, value if false
    list,         ///< the elements
    call          ///< `function` on the children
  };

  Kind kind = Kind::literal;
  int column = 1;  ///< 1-based, in bytes
  Value literal{};
  std::optional<double> real{};  ///< only where reals were asked for
  std::string name{};
  const FunctionInfo* function = nullptr;
  std::vector<Operator> operators{};
  std::vector<int> operator_columns{};  ///< of every operator
  std::vector<std::shared_ptr<const Node>> children{};
};

/// Why a text is not an expression or has no value. Thrown inside the parser and the evaluator only; the public
/// functions of Expression turn it into an Error.
struct ExpressionFault {
  int column = 1;
  std::string message;
};

/// A function that expressions may call, over integers only.
struct FunctionInfo {
  std::string_view name;
  std::size_t minimum_arguments, maximum_arguments;
  std::int64_t (*apply)(const std::vector<std::int64_t>& arguments, int column);
};
[[nodiscard]] const FunctionInfo* find_function(std::string_view name);
[[nodiscard]] std::vector<std::string> function_names();

/// Integer arithmetic with Python's rounding. @throws ExpressionFault on overflow, division by zero, inexact
/// `/` and negative exponents.
[[nodiscard]] std::int64_t apply_arithmetic(Operator op, std::int64_t left, std::int64_t right, int column);
[[nodiscard]] std::int64_t checked_negate(std::int64_t value, int column);

/// @throws ExpressionFault where the text is not an expression. Adds the names it refers to to `names`. `reals`:
/// literals with a fraction or an exponent are accepted; Expression itself knows integers only.
[[nodiscard]] std::shared_ptr<const Expression::Node> parse_expression_tree(std::string_view text,
                                                                            std::set<std::string>& names,
                                                                            bool reals = false);

}  // namespace ak

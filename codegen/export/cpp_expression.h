// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/plan/expression.h"

namespace ak::codegen {

/// An expression as C++ text.
struct CppExpression {
  std::string
      code;  ///< of type ak_plan::Whole (codegen/emit/host_numbers.cuh), or of the literal where it is known
  std::optional<Value> known;  ///< its value where it needs nothing but constants

  /// Known, and false as Python has it.
  [[nodiscard]] bool never() const;
  /// Known, and true.
  [[nodiscard]] bool always() const;
};

/// Writes an expression as C++ that gives the same value, or throws ak_plan::Refusal where the
/// expression has none.
/// @param constants  names whose values are known: they become literals
/// @param variables  name -> its C++ spelling, of type ak_plan::Whole
/// Errors: a name that is neither, a string that only the program could know.
[[nodiscard]] Result<CppExpression> cpp_expression(const Expression& expression, const Environment& constants,
                                                   const std::map<std::string, std::string>& variables);

}  // namespace ak::codegen

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"

namespace ak {

/// What an expression works on: a 64-bit integer (True and False are 1 and 0) or a string (only ==,
/// != and in).
using Value = std::variant<std::int64_t, std::string>;

/// Names an expression may use: axes, params, tunables, `let` names and device facts.
using Environment = std::map<std::string, Value, std::less<>>;

[[nodiscard]] std::string to_string(const Value& value);

/// An expression in the integer subset of Python that FlashInfer-Bench, T1 and Kernel Tuner constraints use.
///
/// Operators, in Python's precedence: `x if c else y`, `or`, `and`, `not`, comparisons (chained: `1 <= N <
/// 8`), `in` / `not in` over a list or tuple literal, `+ -`, `* / // %`, unary `+ -`, `**`. `/` only where it
/// is exact; `//` and `%` round towards minus infinity as in Python. Functions: min, max, abs, ceil_div,
/// round_up, is_pow2, ilog2. Literals: decimal integers, True, False, 'strings', "strings", [lists] and
/// (tuples) after `in`. `and` and `or` return the operand, as in Python. Integers are int64: overflow is an
/// error, never a wrong value. Limits: 4,096 characters and 64 levels of nesting, so that hostile text cannot
/// exhaust the stack. Immutable and cheap to copy; evaluation from several threads is safe.
class Expression {
 public:
  struct Node;

  /// Errors name the column and what was expected.
  static Result<Expression> parse(std::string_view text);

  /// Errors: unknown name (lists the nearest known ones), division by zero, inexact `/`,
  /// overflow, wrong type.
  [[nodiscard]] Result<Value> evaluate(const Environment& environment) const;
  /// As evaluate, and the value must be an integer.
  [[nodiscard]] Result<std::int64_t> evaluate_integer(const Environment& environment) const;
  /// Truth as in Python: 0 and "" are false.
  [[nodiscard]] Result<bool> evaluate_bool(const Environment& environment) const;

  /// Names the expression refers to.
  [[nodiscard]] const std::set<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  Expression(std::string text, std::shared_ptr<const Node> root, std::set<std::string> names)
      : text_(std::move(text)), root_(std::move(root)), names_(std::move(names)) {}
  std::string text_;
  std::shared_ptr<const Node> root_;
  std::set<std::string> names_;
};

}  // namespace ak

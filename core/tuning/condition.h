// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/plan/expression_node.h"
#include "core/result.h"

namespace ak {

/// What a value is known to be: one value (`low` == `high`), or any between the two. Strings are numbers of
/// the caller's choice, marked `text`.
struct ValueRange {
  enum class Kind : std::uint8_t {
    number,
    text,
    anything,  ///< nothing is known
    fault      ///< no value: Python would raise
  };
  double low = 0, high = 0;
  Kind kind = Kind::number;
  bool integer = false;  ///< every value is an integer, not a real number that is whole
  bool mixed = false;    ///< a value may be an integer or a real number; `integer` is false then

  [[nodiscard]] bool known() const { return kind != Kind::anything && low == high && !mixed; }
};

enum class Truth : std::uint8_t { no, yes, unknown };

/// What `/` and large numbers mean: Python's real numbers, or the integers of launch plans
/// (core/plan/expression.h), of which nothing is known where doubles do not hold them.
enum class Arithmetic : std::uint8_t { real, integer };

/// A Python condition over numbered variables, evaluated over ranges: a search may ask before all variables
/// are bound. Integers are exact below 2^53. Immutable; several threads may use it.
class Condition {
 public:
  /// `slots`: number of each variable. `text_number` gives strings their numbers, 0 to the empty one. Errors
  /// name the column; a name that is not a variable is one, with the nearest known name.
  static Result<Condition> compile(const std::string& text, const std::map<std::string, std::size_t>& slots,
                                   const std::function<double(const std::string&)>& text_number,
                                   Arithmetic arithmetic = Arithmetic::real);

  [[nodiscard]] Truth evaluate(std::span<const ValueRange> slots) const;
  /// The value itself, for lists of values.
  [[nodiscard]] ValueRange value(std::span<const ValueRange> slots) const;
  /// Appends what decides the value once the other variables are bound: the values of the largest parts that are
  /// known, and of other variables their `keys`. Where two assignments append the same, whatever is bound
  /// later gives the same value.
  void append_residue(std::span<const ValueRange> slots, std::span<const double> keys,
                      std::vector<double>& residue) const;
  [[nodiscard]] const std::vector<std::size_t>& slots() const { return used_; }  ///< ascending
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  enum class Function : std::uint8_t { minimum, maximum, absolute, ceil_div, other };
  struct Step {
    Expression::Node::Kind kind = Expression::Node::Kind::literal;
    ValueRange literal{};
    std::size_t slot = 0;
    Function function = Function::other;
    const FunctionInfo* info = nullptr;
    std::vector<Operator> operators{};
    std::vector<std::uint32_t> children{};
  };
  struct Compiler;
  [[nodiscard]] ValueRange run(std::uint32_t step, std::span<const ValueRange> slots) const;
  [[nodiscard]] ValueRange combine(Operator op, const ValueRange& left, const ValueRange& right) const;
  struct Residue;
  [[nodiscard]] ValueRange choose(const Step& step, std::span<const ValueRange> slots, Truth stop) const;
  [[nodiscard]] ValueRange compare(const Step& step, std::span<const ValueRange> slots) const;
  [[nodiscard]] ValueRange find_member(Operator op, const ValueRange& wanted, const Step& list,
                                       std::span<const ValueRange> slots) const;
  [[nodiscard]] ValueRange call(const Step& step, std::span<const ValueRange> slots) const;

  std::string text_;
  std::vector<std::size_t> used_;
  std::vector<Step> steps_;  ///< the last one is the root
  Arithmetic arithmetic_ = Arithmetic::real;
};

}  // namespace ak

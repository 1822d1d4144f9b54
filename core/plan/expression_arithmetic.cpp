// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "core/error.h"
#include "core/plan/expression_node.h"

namespace ak {
namespace {

using Arguments = std::vector<std::int64_t>;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

[[noreturn]] void overflow(int column) {
  throw ExpressionFault{column, "the result does not fit in 64 bits"};
}

/// C++'s `/` and `%` are undefined for a zero divisor and for the lowest integer divided by -1.
void check_divisor(std::int64_t left, std::int64_t right, int column) {
  if (right == 0) throw ExpressionFault{column, "division by zero"};
  if (left == kLowest && right == -1) overflow(column);
}

std::int64_t floor_divide(std::int64_t left, std::int64_t right, int column) {
  check_divisor(left, right, column);
  const bool rounded_up = left % right != 0 && (left < 0) != (right < 0);
  return left / right - (rounded_up ? 1 : 0);
}

std::int64_t modulo(std::int64_t left, std::int64_t right, int column) {
  if (right == -1) return 0;
  check_divisor(left, right, column);
  const std::int64_t remainder = left % right;
  return remainder != 0 && (remainder < 0) != (right < 0) ? remainder + right : remainder;
}

std::int64_t exact_divide(std::int64_t left, std::int64_t right, int column) {
  check_divisor(left, right, column);
  if (left % right != 0) throw ExpressionFault{column, "'/' is not exact here; use '//' or ceil_div"};
  return left / right;
}

std::int64_t multiply(std::int64_t left, std::int64_t right, int column) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(left, right, &result)) overflow(column);
  return result;
}

std::int64_t power(std::int64_t base, std::int64_t exponent, int column) {
  if (exponent < 0) throw ExpressionFault{column, "a negative exponent gives no integer"};
  std::int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1) result = multiply(result, base, column);
    exponent /= 2;
    // Squared only while a factor is still to come: otherwise the last, unused square could overflow.
    if (exponent > 0) base = multiply(base, base, column);
  }
  return result;
}

std::int64_t ceil_div(const Arguments& arguments, int column) {
  const std::int64_t floor = floor_divide(arguments[0], arguments[1], column);
  return floor + (modulo(arguments[0], arguments[1], column) != 0 ? 1 : 0);
}

std::int64_t round_up(const Arguments& arguments, int column) {
  return multiply(ceil_div(arguments, column), arguments[1], column);
}

std::int64_t absolute(const Arguments& arguments, int column) {
  return arguments[0] < 0 ? checked_negate(arguments[0], column) : arguments[0];
}

std::int64_t is_pow2(const Arguments& arguments, int) {
  return arguments[0] > 0 && std::has_single_bit(static_cast<std::uint64_t>(arguments[0])) ? 1 : 0;
}

std::int64_t ilog2(const Arguments& arguments, int column) {
  if (arguments[0] < 1) throw ExpressionFault{column, "ilog2 needs a value of at least 1"};
  return std::bit_width(static_cast<std::uint64_t>(arguments[0])) - 1;
}

std::int64_t minimum(const Arguments& arguments, int) { return *std::ranges::min_element(arguments); }
std::int64_t maximum(const Arguments& arguments, int) { return *std::ranges::max_element(arguments); }

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
constexpr std::array kFunctions{
    FunctionInfo{"min", 2, kAnyNumber, minimum}, FunctionInfo{"max", 2, kAnyNumber, maximum},
    FunctionInfo{"abs", 1, 1, absolute},         FunctionInfo{"ceil_div", 2, 2, ceil_div},
    FunctionInfo{"round_up", 2, 2, round_up},    FunctionInfo{"is_pow2", 1, 1, is_pow2},
    FunctionInfo{"ilog2", 1, 1, ilog2},
};

}  // namespace

const FunctionInfo* find_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &FunctionInfo::name);
  return found == kFunctions.end() ? nullptr : found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const FunctionInfo& function : kFunctions) names.emplace_back(function.name);
  return names;
}

std::int64_t checked_negate(std::int64_t value, int column) {
  if (value == kLowest) overflow(column);
  return -value;
}

std::int64_t apply_arithmetic(Operator op, std::int64_t left, std::int64_t right, int column) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::add:
      if (__builtin_add_overflow(left, right, &result)) overflow(column);
      return result;
    case Operator::subtract:
      if (__builtin_sub_overflow(left, right, &result)) overflow(column);
      return result;
    case Operator::multiply:
      return multiply(left, right, column);
    case Operator::divide:
      return exact_divide(left, right, column);
    case Operator::floor_divide:
      return floor_divide(left, right, column);
    case Operator::modulo:
      return modulo(left, right, column);
    case Operator::power:
      return power(left, right, column);
    default:
      break;
  }
  AK_ASSERT(false, "only arithmetic operators come here");
  return 0;
}

}  // namespace ak

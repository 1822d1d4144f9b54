// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/range_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace ak {
namespace {

using Kind = ValueRange::Kind;

ValueRange number(double low, double high, bool integer) {
  if (std::isnan(low) || std::isnan(high)) return kAnything;  // infinity minus infinity
  return {low, high, Kind::number, integer};
}

/// Python's `//`. The quotient of two doubles may round up to the next whole number.
double floor_quotient(double left, double right) {
  const double quotient = std::floor(left / right);
  const bool above = right > 0 ? quotient * right > left : quotient * right < left;
  return above ? quotient - 1 : quotient;
}

double floor_modulo(double left, double right) {
  const double rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

/// Extremes of an operation that is monotone in each operand: they lie at the corners.
template <class Operation>
ValueRange corners(const ValueRange& left, const ValueRange& right, bool integer, Operation operation) {
  if (left.low == left.high && right.low == right.high) {
    const double only = operation(left.low, right.low);
    return std::isnan(only) ? kFault : number(only, only, integer);
  }
  const auto [low, high] = std::minmax({operation(left.low, right.low), operation(left.low, right.high),
                                        operation(left.high, right.low), operation(left.high, right.high)});
  return number(low, high, integer);
}

ValueRange modulo(const ValueRange& left, const ValueRange& right, bool integer) {
  if (left.known() && right.known()) {
    const double rest = floor_modulo(left.low, right.low);
    return number(rest, rest, integer);
  }
  if (right.low <= 0) return kAnything;
  const double most = right.high - (integer ? 1 : 0);
  return number(0, left.low >= 0 ? std::min(most, left.high) : most, integer);
}

ValueRange power(const ValueRange& left, const ValueRange& right, bool integer) {
  if (left.known() && right.known()) {
    if (left.low == 0 && right.low < 0) return kFault;
    const double result = std::pow(left.low, right.low);
    return std::isnan(result) ? kFault : number(result, result, integer && right.low >= 0);
  }
  if (left.low < 1 || right.low < 0) return kAnything;
  return number(std::pow(left.low, right.low), std::pow(left.high, right.high), integer);
}

bool equal_possible(const ValueRange& left, const ValueRange& right) {
  return left.kind == right.kind && left.low <= right.high && right.low <= left.high;
}

Truth less(const ValueRange& left, const ValueRange& right) {
  if (left.high < right.low) return Truth::yes;
  return left.low >= right.high ? Truth::no : Truth::unknown;
}

Truth equal(const ValueRange& left, const ValueRange& right) {
  if (!equal_possible(left, right)) return Truth::no;
  return left.known() && right.known() ? Truth::yes : Truth::unknown;
}

ValueRange apply(Operator op, const ValueRange& left, const ValueRange& right) {
  if (left.kind == Kind::fault || right.kind == Kind::fault) return kFault;
  if (left.kind == Kind::anything || right.kind == Kind::anything) return kAnything;
  if (left.kind == Kind::text || right.kind == Kind::text) return kFault;
  const bool integer = left.integer && right.integer;
  const bool divides = op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
  if (divides && right.low == 0 && right.high == 0) return kFault;
  if (divides && right.low <= 0 && right.high >= 0) return kAnything;
  switch (op) {
    case Operator::add:
      return number(left.low + right.low, left.high + right.high, integer);
    case Operator::subtract:
      return number(left.low - right.high, left.high - right.low, integer);
    case Operator::multiply:
      return corners(left, right, integer, [](double a, double b) { return a * b; });
    case Operator::divide:
      return corners(left, right, false, [](double a, double b) { return a / b; });
    case Operator::floor_divide:
      return corners(left, right, integer, floor_quotient);
    case Operator::modulo:
      return modulo(left, right, integer);
    default:
      return power(left, right, integer);
  }
}

}  // namespace

Truth negate(Truth truth) {
  if (truth == Truth::unknown) return truth;
  return truth == Truth::yes ? Truth::no : Truth::yes;
}

ValueRange from_truth(Truth truth) {
  return number(truth == Truth::yes ? 1 : 0, truth == Truth::no ? 0 : 1, true);
}

Truth truth_of(const ValueRange& value) {
  if (value.kind == Kind::anything) return Truth::unknown;
  if (value.kind == Kind::fault) return Truth::no;
  if (value.low == 0 && value.high == 0) return Truth::no;
  return value.low > 0 || value.high < 0 ? Truth::yes : Truth::unknown;
}

ValueRange join(const ValueRange& left, const ValueRange& right) {
  if (left.kind != right.kind || left.kind == Kind::anything) return kAnything;
  return {std::min(left.low, right.low), std::max(left.high, right.high), left.kind,
          left.integer && right.integer, left.mixed || right.mixed || left.integer != right.integer};
}

ValueRange arithmetic(Operator op, const ValueRange& left, const ValueRange& right) {
  ValueRange result = apply(op, left, right);
  const bool some_real = !(left.integer || left.mixed) || !(right.integer || right.mixed);
  result.mixed =
      (left.mixed || right.mixed) && !some_real && op != Operator::divide && result.kind == Kind::number;
  return result;
}

bool is_exact(const ValueRange& value) {
  constexpr double kExact = 0x1p53;  // may itself stand for 2^53 + 1
  return value.integer && std::abs(value.low) < kExact && std::abs(value.high) < kExact;
}

ValueRange integer_arithmetic(Operator op, const ValueRange& left, const ValueRange& right) {
  ValueRange result = arithmetic(op, left, right);
  if (result.kind != Kind::number) return result;
  if (op == Operator::power && right.known() && right.low < 0) return kFault;
  if (op == Operator::divide) {
    if (!left.known() || !right.known()) return kAnything;
    if (floor_modulo(left.low, right.low) != 0) return kFault;
    result.integer = true;
  }
  return is_exact(result) ? result : kAnything;
}

Truth ordered(Operator op, const ValueRange& left, const ValueRange& right) {
  if (left.kind == Kind::anything || right.kind == Kind::anything) return Truth::unknown;
  if (op == Operator::equal) return equal(left, right);
  if (op == Operator::not_equal) return negate(equal(left, right));
  switch (op) {
    case Operator::less:
      return less(left, right);
    case Operator::less_equal:
      return negate(less(right, left));
    case Operator::greater:
      return less(right, left);
    default:
      return negate(less(left, right));
  }
}

}  // namespace ak

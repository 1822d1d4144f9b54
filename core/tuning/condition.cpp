// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/text/suggest.h"
#include "core/tuning/range_arithmetic.h"

namespace ak {
namespace {

using NodeKind = Expression::Node::Kind;

ValueRange exactly(double value, bool integer) { return {value, value, ValueRange::Kind::number, integer}; }

bool whole(const ValueRange& value) {
  constexpr double kExact = 0x1p53;
  return value.kind == ValueRange::Kind::number && value.known() && value.integer &&
         std::abs(value.low) <= kExact;
}

/// One of the functions over integers that expressions of launch plans have too; known operands only.
ValueRange apply_known(const FunctionInfo& function, const std::vector<ValueRange>& operands) {
  std::vector<std::int64_t> integers;
  for (const ValueRange& operand : operands) {
    if (!operand.known()) return kAnything;
    if (!whole(operand)) return kFault;
    integers.push_back(static_cast<std::int64_t>(operand.low));
  }
  try {
    return exactly(static_cast<double>(function.apply(integers, 1)), true);
  } catch (const ExpressionFault&) {
    return kFault;
  }
}

ValueRange absolute(const ValueRange& value) {
  if (value.low >= 0) return value;
  const double high = std::max(-value.low, value.high);
  return {value.high <= 0 ? -value.high : 0, high, value.kind, value.integer};
}

std::string unknown(const std::string& name, const std::map<std::string, std::size_t>& slots) {
  std::vector<std::string> known;
  for (const auto& entry : slots) known.push_back(entry.first);
  return fmt::format("'{}' is not a parameter{}; parameters: {}", name, did_you_mean(name, known),
                     fmt::join(known, ", "));
}

}  // namespace

/// Turns the tree into steps, children first, so that evaluation reads one array.
struct Condition::Compiler {
  const std::map<std::string, std::size_t>& slots;
  const std::function<double(const std::string&)>& text_number;
  std::vector<Step> steps{};
  std::set<std::size_t> used{};

  std::uint32_t add(const Expression::Node& node) {
    Step step{.kind = node.kind, .operators = node.operators};
    if (node.kind == NodeKind::literal) step.literal = literal(node);
    if (node.kind == NodeKind::name) used.insert(step.slot = slot(node));
    if (node.kind == NodeKind::call) set_function(step, node);
    for (const auto& child : node.children) step.children.push_back(add(*child));
    steps.push_back(std::move(step));
    return static_cast<std::uint32_t>(steps.size() - 1);
  }

  ValueRange literal(const Expression::Node& node) const {
    if (node.real) return exactly(*node.real, false);
    if (const auto* integer = std::get_if<std::int64_t>(&node.literal))
      return exactly(static_cast<double>(*integer), true);
    const double number = text_number(std::get<std::string>(node.literal));
    return {number, number, ValueRange::Kind::text, false};
  }

  std::size_t slot(const Expression::Node& node) const {
    const auto found = slots.find(node.name);
    if (found == slots.end()) throw ExpressionFault{node.column, unknown(node.name, slots)};
    return found->second;
  }

  static void set_function(Step& step, const Expression::Node& node) {
    static const std::map<std::string_view, Function> kFunctions{{"min", Function::minimum},
                                                                 {"max", Function::maximum},
                                                                 {"abs", Function::absolute},
                                                                 {"ceil_div", Function::ceil_div}};
    const auto found = kFunctions.find(node.function->name);
    step.function = found == kFunctions.end() ? Function::other : found->second;
    step.info = node.function;
  }
};

Result<Condition> Condition::compile(const std::string& text, const std::map<std::string, std::size_t>& slots,
                                     const std::function<double(const std::string&)>& text_number) {
  try {
    std::set<std::string> names;
    const auto root = parse_expression_tree(text, names, true);
    Compiler compiler{.slots = slots, .text_number = text_number};
    compiler.add(*root);
    Condition condition;
    condition.text_ = text;
    condition.used_.assign(compiler.used.begin(), compiler.used.end());
    condition.steps_ = std::move(compiler.steps);
    return condition;
  } catch (const ExpressionFault& fault) {
    return InputError{fmt::format("column {}: {}", fault.column, fault.message)};
  }
}

Truth Condition::evaluate(std::span<const ValueRange> slots) const { return truth_of(value(slots)); }

ValueRange Condition::value(std::span<const ValueRange> slots) const {
  return run(static_cast<std::uint32_t>(steps_.size() - 1), slots);
}

ValueRange Condition::run(std::uint32_t index, std::span<const ValueRange> slots) const {
  const Step& step = steps_[index];
  switch (step.kind) {
    case NodeKind::literal:
      return step.literal;
    case NodeKind::name:
      return slots[step.slot];
    case NodeKind::plus:
    case NodeKind::minus:
      return arithmetic(step.kind == NodeKind::plus ? Operator::add : Operator::subtract, exactly(0, true),
                        run(step.children[0], slots));
    case NodeKind::logical_not: {
      const ValueRange operand = run(step.children[0], slots);
      if (operand.kind == ValueRange::Kind::fault) return operand;
      return from_truth(ordered(Operator::equal, from_truth(truth_of(operand)), exactly(0, true)));
    }
    case NodeKind::logical_and:
      return choose(step, slots, Truth::no);
    case NodeKind::logical_or:
      return choose(step, slots, Truth::yes);
    case NodeKind::arithmetic: {
      ValueRange result = run(step.children[0], slots);
      for (std::size_t i = 0; i < step.operators.size(); ++i)
        result = arithmetic(step.operators[i], result, run(step.children[i + 1], slots));
      return result;
    }
    case NodeKind::comparison:
      return compare(step, slots);
    case NodeKind::conditional: {
      const ValueRange chooser = run(step.children[0], slots);
      if (chooser.kind == ValueRange::Kind::fault) return chooser;
      const Truth truth = truth_of(chooser);
      if (truth != Truth::unknown) return run(step.children[truth == Truth::yes ? 1 : 2], slots);
      return join(run(step.children[1], slots), run(step.children[2], slots));
    }
    case NodeKind::call:
      return call(step, slots);
    case NodeKind::list:
      break;
  }
  AK_ASSERT(false, "the parser puts lists only after 'in'");
  return {};
}

/// Python's `and` and `or`: the first operand whose truth is `stop`, else the last. What may come out is the
/// union of all that may be that operand.
ValueRange Condition::choose(const Step& step, std::span<const ValueRange> slots, Truth stop) const {
  std::optional<ValueRange> possible;
  for (const std::uint32_t child : step.children) {
    const ValueRange operand = run(child, slots);
    if (operand.kind == ValueRange::Kind::fault) return possible ? kAnything : operand;
    const Truth truth = truth_of(operand);
    const bool last = child == step.children.back();
    if (last || truth == stop || truth == Truth::unknown)
      possible = possible ? join(*possible, operand) : operand;
    if (truth == stop) break;
  }
  return *possible;
}

ValueRange Condition::compare(const Step& step, std::span<const ValueRange> slots) const {
  using Kind = ValueRange::Kind;
  Truth all = Truth::yes;
  ValueRange left = run(step.children[0], slots);
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    const Operator op = step.operators[i];
    const Step& operand = steps_[step.children[i + 1]];
    const bool membership = operand.kind == NodeKind::list;
    Truth truth = Truth::no;
    ValueRange right = membership ? ValueRange{} : run(step.children[i + 1], slots);
    if (left.kind == Kind::fault || right.kind == Kind::fault) return all == Truth::yes ? kFault : kAnything;
    for (std::size_t e = 0; membership && e < operand.children.size() && truth != Truth::yes; ++e) {
      const ValueRange element = run(operand.children[e], slots);
      if (element.kind == Kind::fault) return all == Truth::yes ? kFault : kAnything;
      truth = std::max(truth, ordered(Operator::equal, left, element),
                       [](Truth a, Truth b) { return a == Truth::no || (a != b && b == Truth::yes); });
    }
    if (membership && op == Operator::not_in && truth != Truth::unknown)
      truth = truth == Truth::yes ? Truth::no : Truth::yes;
    const bool equality = op == Operator::equal || op == Operator::not_equal;
    if (!membership && !equality && (left.kind == Kind::text || right.kind == Kind::text)) return kFault;
    if (!membership) truth = ordered(op, left, right);
    if (truth == Truth::no) return from_truth(truth);
    if (truth == Truth::unknown) all = Truth::unknown;
    left = right;
  }
  return from_truth(all);
}

ValueRange Condition::call(const Step& step, std::span<const ValueRange> slots) const {
  using Kind = ValueRange::Kind;
  std::vector<ValueRange> operands;
  for (const std::uint32_t child : step.children) {
    operands.push_back(run(child, slots));
    if (operands.back().kind == Kind::fault || operands.back().kind == Kind::text) return kFault;
  }
  const bool numbers = std::ranges::all_of(operands, [](const auto& o) { return o.kind == Kind::number; });
  if (!numbers) return kAnything;
  ValueRange result = operands[0];
  switch (step.function) {
    case Function::minimum:
    case Function::maximum:
      for (const ValueRange& operand : operands) {
        const bool least = step.function == Function::minimum;
        result.low = least ? std::min(result.low, operand.low) : std::max(result.low, operand.low);
        result.high = least ? std::min(result.high, operand.high) : std::max(result.high, operand.high);
        result.integer = result.integer && operand.integer;
      }
      return result;
    case Function::absolute:
      return absolute(result);
    case Function::ceil_div:  // -(-a // b)
      return arithmetic(Operator::subtract, exactly(0, true),
                        arithmetic(Operator::floor_divide,
                                   arithmetic(Operator::subtract, exactly(0, true), result), operands[1]));
    case Function::other:
      return apply_known(*step.info, operands);
  }
  return kAnything;
}

}  // namespace ak

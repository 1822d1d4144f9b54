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
  return value.kind == ValueRange::Kind::number && value.known() && is_exact(value);
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
    const ValueRange result = exactly(static_cast<double>(function.apply(integers, 1)), true);
    return is_exact(result) ? result : kAnything;
  } catch (const ExpressionFault&) {
    return kFault;
  }
}

ValueRange absolute(const ValueRange& value) {
  if (value.low >= 0) return value;
  const double high = std::max(-value.low, value.high);
  return {value.high <= 0 ? -value.high : 0, high, value.kind, value.integer, value.mixed};
}

ValueRange compare_two(Operator op, const ValueRange& left, const ValueRange& right) {
  using Kind = ValueRange::Kind;
  if (left.kind == Kind::fault || right.kind == Kind::fault) return kFault;
  const bool equality = op == Operator::equal || op == Operator::not_equal;
  if (!equality && (left.kind == Kind::text || right.kind == Kind::text)) return kFault;
  if (left.kind == Kind::anything || right.kind == Kind::anything) return kAnything;
  return from_truth(ordered(op, left, right));
}

/// Python's `min` or `max` of two: of equal ones the first.
ValueRange extreme(bool least, const ValueRange& left, const ValueRange& right) {
  if (left.known() && right.known())
    return (least ? right.low < left.low : right.low > left.low) ? right : left;
  ValueRange result = join(left, right);
  result.low = least ? std::min(left.low, right.low) : std::max(left.low, right.low);
  result.high = least ? std::min(left.high, right.high) : std::max(left.high, right.high);
  return result;
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
                                     const std::function<double(const std::string&)>& text_number,
                                     Arithmetic arithmetic) {
  try {
    std::set<std::string> names;
    const auto root = parse_expression_tree(text, names, true);
    Compiler compiler{.slots = slots, .text_number = text_number};
    compiler.add(*root);
    Condition condition;
    condition.arithmetic_ = arithmetic;
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

ValueRange Condition::combine(Operator op, const ValueRange& left, const ValueRange& right) const {
  return arithmetic_ == Arithmetic::real ? arithmetic(op, left, right) : integer_arithmetic(op, left, right);
}

ValueRange Condition::run(std::uint32_t index, std::span<const ValueRange> slots) const {
  const Step& step = steps_[index];
  switch (step.kind) {
    case NodeKind::literal:
      return arithmetic_ == Arithmetic::integer && step.literal.integer && !is_exact(step.literal)
                 ? kAnything
                 : step.literal;
    case NodeKind::name:
      return slots[step.slot];
    case NodeKind::plus:
    case NodeKind::minus:
      return combine(step.kind == NodeKind::plus ? Operator::add : Operator::subtract, exactly(0, true),
                     run(step.children[0], slots));
    case NodeKind::logical_not: {
      const ValueRange operand = run(step.children[0], slots);
      const bool valued =
          operand.kind != ValueRange::Kind::fault && operand.kind != ValueRange::Kind::anything;
      return valued ? from_truth(negate(truth_of(operand))) : operand;
    }
    case NodeKind::logical_and:
      return choose(step, slots, Truth::no);
    case NodeKind::logical_or:
      return choose(step, slots, Truth::yes);
    case NodeKind::arithmetic: {
      ValueRange result = run(step.children[0], slots);
      for (std::size_t i = 0; i < step.operators.size(); ++i)
        result = combine(step.operators[i], result, run(step.children[i + 1], slots));
      return result;
    }
    case NodeKind::comparison:
      return compare(step, slots);
    case NodeKind::conditional: {
      const ValueRange chooser = run(step.children[0], slots);
      if (chooser.kind == ValueRange::Kind::fault || chooser.kind == ValueRange::Kind::anything)
        return chooser;
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

/// A chain: its comparisons up to the first that is false.
ValueRange Condition::compare(const Step& step, std::span<const ValueRange> slots) const {
  Truth all = Truth::yes;
  bool doubtful = false;  // a comparison may have no value, and then the whole has none
  ValueRange left = run(step.children[0], slots);
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    const Step& operand = steps_[step.children[i + 1]];
    const bool membership = operand.kind == NodeKind::list;  // which the parser takes at the end only
    const ValueRange right = membership ? ValueRange{} : run(step.children[i + 1], slots);
    const ValueRange link = membership ? find_member(step.operators[i], left, operand, slots)
                                       : compare_two(step.operators[i], left, right);
    if (link.kind == ValueRange::Kind::fault) return all == Truth::yes ? kFault : kAnything;
    doubtful = doubtful || link.kind == ValueRange::Kind::anything;
    const Truth truth = truth_of(link);
    if (truth == Truth::no) return doubtful ? kAnything : link;
    if (truth == Truth::unknown) all = Truth::unknown;
    left = right;
  }
  return doubtful ? kAnything : from_truth(all);
}

/// `in` and `not in`. Python evaluates the whole list first, so that every member needs a value.
ValueRange Condition::find_member(Operator op, const ValueRange& wanted, const Step& list,
                                  std::span<const ValueRange> slots) const {
  using Kind = ValueRange::Kind;
  if (wanted.kind == Kind::fault) return kFault;
  Truth found = Truth::no;
  bool doubtful = wanted.kind == Kind::anything;
  for (const std::uint32_t child : list.children) {
    const ValueRange member = run(child, slots);
    if (member.kind == Kind::fault) return kFault;
    doubtful = doubtful || member.kind == Kind::anything;
    const Truth same = ordered(Operator::equal, wanted, member);
    if (found == Truth::no || same == Truth::yes) found = same;
  }
  if (doubtful) return kAnything;
  return from_truth(op == Operator::in ? found : negate(found));
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
      for (const ValueRange& operand : operands)
        result = extreme(step.function == Function::minimum, result, operand);
      return result;
    case Function::absolute:
      return absolute(result);
    case Function::ceil_div:  // -(-a // b)
      return combine(Operator::subtract, exactly(0, true),
                     combine(Operator::floor_divide, combine(Operator::subtract, exactly(0, true), result),
                             operands[1]));
    case Function::other:
      return apply_known(*step.info, operands);
  }
  return kAnything;
}

/// Every entry begins with a word that says how it goes on, so that no two residues are alike by accident.
struct Condition::Residue {
  enum Word : std::uint8_t { kNothing, kInteger, kReal, kText, kOpen, kChosen, kPrefix };

  const Condition& condition;
  std::span<const ValueRange> slots;
  std::span<const double> keys;
  std::vector<double>& words;

  /// False where more than its value is needed.
  bool add_known(const ValueRange& value) {
    using Kind = ValueRange::Kind;
    if (value.kind == Kind::fault) {
      words.push_back(kNothing);
      return true;
    }
    if (!value.known()) return false;
    // 2 and 2.0 are equal, but functions of integers take only one of them.
    const Word number = value.integer ? kInteger : kReal;
    words.push_back(value.kind == Kind::text ? kText : number);
    words.push_back(value.low);
    return true;
  }

  void add(std::uint32_t index) {
    const Step& step = condition.steps_[index];
    if (step.kind != NodeKind::list && add_known(condition.run(index, slots))) return;
    if (step.kind == NodeKind::name) {
      words.insert(words.end(), {double{kOpen}, keys[step.slot]});
    } else if (step.kind == NodeKind::conditional) {
      add_conditional(step);
    } else if (step.kind == NodeKind::arithmetic) {
      add_chain(step);
    } else {
      words.push_back(kOpen);
      for (const std::uint32_t child : step.children) add(child);
    }
  }

  /// What is not chosen does not matter.
  void add_conditional(const Step& step) {
    const ValueRange chooser = condition.run(step.children[0], slots);
    const Truth truth = truth_of(chooser);
    if (truth != Truth::unknown) {
      words.insert(words.end(), {double{kChosen}, truth == Truth::yes ? 1.0 : 0.0});
      return add(step.children[truth == Truth::yes ? 1 : 2]);
    }
    words.push_back(kOpen);
    for (const std::uint32_t child : step.children) add(child);
  }

  /// A chain is computed from the left: as far as it is known, its value stands for its operands.
  void add_chain(const Step& step) {
    ValueRange value = condition.run(step.children[0], slots);
    std::size_t known = value.known() ? 1 : 0;
    while (known > 0 && known < step.children.size()) {
      const ValueRange longer =
          condition.combine(step.operators[known - 1], value, condition.run(step.children[known], slots));
      if (!longer.known()) break;
      value = longer;
      ++known;
    }
    words.insert(words.end(), {double{kPrefix}, static_cast<double>(known)});
    if (known > 0) add_known(value);
    for (std::size_t i = known; i < step.children.size(); ++i) add(step.children[i]);
  }
};

void Condition::append_residue(std::span<const ValueRange> slots, std::span<const double> keys,
                               std::vector<double>& residue) const {
  Residue{*this, slots, keys, residue}.add(static_cast<std::uint32_t>(steps_.size() - 1));
}

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#include "core/sets/rule_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"

namespace ak {
namespace {

using ShapeSet = std::uint64_t;
using MemberSet = std::uint32_t;

// Sets of shapes looked at in search of the smallest rule: about a second with 64 shapes, whose sets take 80 us each. A
// rule of three cells over 20 shapes needs some hundred.
constexpr std::size_t kMaxLookedAt = 10'000;

// A member that does not take a shape counts as so many times as slow there: no infinity, because sums are compared.
constexpr double kRefused = 100;

constexpr int kAxisCost = 1, kProductCost = 3, kRemainderCost = 4;

/// Of shapes by a quantity.
struct Split {
  std::size_t quantity = 0;
  std::int64_t limit = 0;
  ShapeSet below = 0, above = 0;
  double margin = 0;  ///< logarithm of the ratio of the values on both sides
};

/// Fewer cells, then a lower cost, then a wider margin.
struct TreeCost {
  int cells = 1, cost = 0;
  double margin = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool better_than(const TreeCost& other) const {
    if (cells != other.cells) return cells < other.cells;
    if (cost != other.cost) return cost < other.cost;
    return margin > other.margin;
  }
};

/// The best known tree of a set of shapes: a leaf, or a split.
struct Tree {
  TreeCost cost;
  std::optional<Split> split;
};

std::int64_t limit_between(std::int64_t low, std::int64_t high) {
  const double middle = std::sqrt(static_cast<double>(low)) * std::sqrt(static_cast<double>(high));
  return std::clamp(static_cast<std::int64_t>(middle), low, high - 1);
}

class RuleSearch {
 public:
  RuleSearch(const std::vector<RuleQuantity>& quantities, const std::vector<std::vector<double>>& times_ns,
             std::size_t asked, std::size_t fallback)
      : quantities_(quantities),
        times_ns_(times_ns),
        asked_(asked),
        fallback_(fallback),
        shapes_(times_ns.front().size()) {
    AK_ASSERT(shapes_ <= kMaxRuleShapes && times_ns_.size() <= 32, "sets of shapes and members fit a word");
    for (std::size_t shape = 0; shape < shapes_; ++shape) {
      fastest_ns_.push_back(fastest_on(shape));
      allowed_.push_back(allowed_on(shape));
    }
    for (const std::vector<double>& times : times_ns_) {
      losses_.emplace_back();
      for (std::size_t shape = 0; shape < shapes_; ++shape)
        losses_.back().push_back(std::log(std::min(times[shape] / fastest_ns_[shape], kRefused)));
    }
  }

  SetRule run() {
    const ShapeSet all = shapes_ == kMaxRuleShapes ? ~ShapeSet{0} : (ShapeSet{1} << shapes_) - 1;
    for (int cells = 1; cells <= static_cast<int>(shapes_) && !gave_up(); ++cells)
      if (best(all, cells)) break;
    SetRule rule{.cells = {}, .fallback = fallback_};
    write(all, {}, rule);
    return rule;
  }

 private:
  [[nodiscard]] bool gave_up() const { return looked_at_ > kMaxLookedAt; }

  [[nodiscard]] double fastest_on(std::size_t shape) const {
    double fastest = std::numeric_limits<double>::infinity();
    for (const auto& times : times_ns_) fastest = std::min(fastest, times[shape]);
    AK_ASSERT(std::isfinite(fastest), "a member takes every shape");
    return fastest;
  }

  [[nodiscard]] MemberSet allowed_on(std::size_t shape) const {
    MemberSet allowed = 0;
    for (std::size_t member = 0; member < times_ns_.size(); ++member)
      if (times_ns_[member][shape] <= kAlike * fastest_ns_[shape]) allowed |= MemberSet{1} << member;
    return allowed;
  }

  /// Members that all of these shapes may have: as good as the fastest where they were asked for, and without much loss on
  /// the drawn ones together.
  [[nodiscard]] MemberSet common(ShapeSet shapes) const {
    const ShapeSet asked = asked_ == kMaxRuleShapes ? ~ShapeSet{0} : (ShapeSet{1} << asked_) - 1;
    MemberSet members = ~MemberSet{0} >> (32 - times_ns_.size());
    for (ShapeSet rest = shapes & asked; rest != 0; rest &= rest - 1)
      members &= allowed_[static_cast<std::size_t>(std::countr_zero(rest))];
    if ((shapes & ~asked) == 0) return members;
    for (MemberSet rest = members; rest != 0; rest &= rest - 1) {
      const auto member = static_cast<std::size_t>(std::countr_zero(rest));
      if (loss_of(member, shapes & ~asked) > kDrawnLoss) members &= ~(MemberSet{1} << member);
    }
    return members;
  }

  [[nodiscard]] double loss_of(std::size_t member, ShapeSet shapes) const {
    double sum = 0;
    for (ShapeSet rest = shapes; rest != 0; rest &= rest - 1)
      sum += losses_[member][static_cast<std::size_t>(std::countr_zero(rest))];
    return sum;
  }

  /// Each way to part the shapes once, by the quantity that reads easiest and parts them furthest.
  [[nodiscard]] std::vector<Split> splits(ShapeSet shapes) const {
    std::map<ShapeSet, Split> found;
    for (std::size_t q = 0; q < quantities_.size(); ++q) {
      std::map<std::int64_t, ShapeSet> by_value;
      for (ShapeSet rest = shapes; rest != 0; rest &= rest - 1) {
        const auto shape = static_cast<std::size_t>(std::countr_zero(rest));
        by_value[quantities_[q].values[shape]] |= ShapeSet{1} << shape;
      }
      ShapeSet below = 0;
      for (auto at = by_value.begin(); std::next(at) != by_value.end(); ++at) {
        below |= at->second;
        const std::int64_t low = at->first, high = std::next(at)->first;
        const Split split{
            q, limit_between(low, high), below, shapes & ~below,
            std::log(static_cast<double>(high) / static_cast<double>(std::max<std::int64_t>(low, 1)))};
        const auto [known, added] = found.emplace(std::min(split.below, split.above), split);
        if (!added && is_plainer(split, known->second)) known->second = split;
      }
    }
    std::vector<Split> list;
    for (const auto& [key, split] : found) list.push_back(split);
    return list;
  }

  [[nodiscard]] bool is_plainer(const Split& one, const Split& other) const {
    const int cost = quantities_[one.quantity].cost, other_cost = quantities_[other.quantity].cost;
    return cost != other_cost ? cost < other_cost : one.margin > other.margin;
  }

  [[nodiscard]] TreeCost joined(const Split& split, const TreeCost& below, const TreeCost& above) const {
    return {.cells = below.cells + above.cells,
            .cost = below.cost + above.cost + quantities_[split.quantity].cost,
            .margin = std::min({split.margin, below.margin, above.margin})};
  }

  /// The best tree of at most so many cells; nothing where there is none, or the search is given up.
  std::optional<TreeCost> best(ShapeSet shapes, int most_cells) {
    if (common(shapes) != 0) return trees_.insert_or_assign(shapes, Tree{}).first->second.cost;
    if (most_cells < 2 || gave_up()) return std::nullopt;
    if (const auto known = trees_.find(shapes); known != trees_.end()) {
      if (known->second.cost.cells <= most_cells) return known->second.cost;
      return std::nullopt;
    }
    if (const auto hopeless = too_few_.find(shapes);
        hopeless != too_few_.end() && hopeless->second >= most_cells)
      return std::nullopt;
    ++looked_at_;
    std::optional<Tree> found;
    for (const Split& split : splits(shapes)) {
      const int most = found ? std::min(most_cells, found->cost.cells) : most_cells;
      const auto below = best(split.below, most - 1);
      const auto above = below ? best(split.above, most - below->cells) : std::nullopt;
      if (!above) continue;
      const Tree tree{joined(split, *below, *above), split};
      if (!found || tree.cost.better_than(found->cost)) found = tree;
    }
    if (!found) {
      too_few_[shapes] = most_cells;
      return std::nullopt;
    }
    trees_[shapes] = *found;
    return found->cost;
  }

  /// Of the member for which it is least.
  [[nodiscard]] double least_loss(ShapeSet shapes) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t member = 0; member < times_ns_.size(); ++member)
      least = std::min(least, loss_of(member, shapes));
    return least;
  }

  /// What the search for the smallest rule left open: the split after which the fastest member of either side costs least.
  [[nodiscard]] Split greedy(ShapeSet shapes) const {
    std::optional<Split> chosen;
    double least = std::numeric_limits<double>::infinity();
    for (const Split& split : splits(shapes)) {
      const double cost = least_loss(split.below) + least_loss(split.above);
      if (cost < least || (cost == least && is_plainer(split, *chosen))) least = cost, chosen = split;
    }
    AK_ASSERT(chosen.has_value(), "shapes differ in an axis");
    return *chosen;
  }

  [[nodiscard]] Split split_of(ShapeSet shapes) const {
    const auto known = trees_.find(shapes);
    return known != trees_.end() && known->second.split ? *known->second.split : greedy(shapes);
  }

  void write(ShapeSet shapes, std::vector<CellBound> bounds, SetRule& rule) const {
    if (const MemberSet members = common(shapes); members != 0) {
      rule.cells.push_back({.bounds = std::move(bounds), .member = fastest_of(members, shapes)});
      return;
    }
    const Split split = split_of(shapes);
    for (const bool above : {false, true})
      write(above ? split.above : split.below,
            with_bound(bounds, {quantities_[split.quantity].text, above, split.limit}), rule);
  }

  /// A bound replaces a weaker one on the same side.
  [[nodiscard]] static std::vector<CellBound> with_bound(std::vector<CellBound> bounds, CellBound bound) {
    const auto same = std::ranges::find_if(bounds, [&](const CellBound& other) {
      return other.quantity == bound.quantity && other.above == bound.above;
    });
    if (same == bounds.end())
      bounds.push_back(std::move(bound));
    else
      *same = std::move(bound);
    return bounds;
  }

  [[nodiscard]] std::size_t fastest_of(MemberSet members, ShapeSet shapes) const {
    std::size_t fastest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t member = 0; member < times_ns_.size(); ++member) {
      if ((members >> member & 1) == 0) continue;
      double sum = 0;
      for (ShapeSet rest = shapes; rest != 0; rest &= rest - 1)
        sum += std::log(times_ns_[member][static_cast<std::size_t>(std::countr_zero(rest))]);
      if (sum < least) least = sum, fastest = member;
    }
    return fastest;
  }

  const std::vector<RuleQuantity>& quantities_;
  const std::vector<std::vector<double>>& times_ns_;
  std::size_t asked_, fallback_, shapes_;
  std::vector<double> fastest_ns_;
  std::vector<std::vector<double>>
      losses_;  ///< logarithm of a member's time over the fastest, by member and shape
  std::vector<MemberSet> allowed_;
  std::map<ShapeSet, Tree> trees_;
  std::map<ShapeSet, int> too_few_;  ///< so many cells are not enough
  std::size_t looked_at_ = 0;
};

std::vector<std::int64_t> values_of(const std::string& text, const Definition& definition,
                                    const std::vector<AxisValues>& shapes) {
  const Result<Expression> quantity = Expression::parse(text);
  AK_ASSERT(quantity.ok(), "axes are named like variables");
  std::vector<std::int64_t> values;
  for (const AxisValues& shape : shapes) {
    Environment sizes;
    for (const auto& [axis, size] : shape) sizes[axis] = size;
    add_axes(definition, sizes);
    const Result<std::int64_t> value = quantity->evaluate_integer(sizes);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

/// Pairs of varying axes that some tensor has both of.
std::set<std::pair<std::string, std::string>> joint_axes(const Definition& definition) {
  std::set<std::pair<std::string, std::string>> pairs;
  const auto varies = [&](const std::string& name) {
    const auto axis = std::ranges::find(definition.axes, name, &Axis::name);
    return axis != definition.axes.end() && axis->varies();
  };
  for (const auto* list : {&definition.inputs, &definition.outputs})
    for (const TensorSpec& tensor : *list) {
      if (tensor.is_scalar()) continue;
      for (std::size_t i = 0; i < tensor.shape->size(); ++i)
        for (std::size_t j = i + 1; j < tensor.shape->size(); ++j) {
          const std::string &one = (*tensor.shape)[i], &other = (*tensor.shape)[j];
          if (one != other && varies(one) && varies(other)) pairs.insert(std::minmax(one, other));
        }
    }
  return pairs;
}

}  // namespace

std::vector<RuleQuantity> rule_quantities(const Definition& definition,
                                          const std::vector<AxisValues>& shapes) {
  std::vector<RuleQuantity> quantities;
  const auto add = [&](const std::string& text, int cost) {
    std::vector<std::int64_t> values = values_of(text, definition, shapes);
    if (!values.empty()) quantities.push_back({text, cost, std::move(values)});
  };
  for (const Axis& axis : definition.axes)
    if (axis.varies()) add(axis.name, kAxisCost);
  for (const auto& [one, other] : joint_axes(definition))
    add(fmt::format("{} * {}", one, other), kProductCost);
  for (const Axis& axis : definition.axes) {
    if (!axis.varies()) continue;
    add(axis.name + " % 8", kRemainderCost);
    if (quantities.empty() || quantities.back().text != axis.name + " % 8") continue;
    // Only whether it divides: that a remainder of 3 is less than one of 5 means nothing.
    for (std::int64_t& value : quantities.back().values) value = std::min<std::int64_t>(value, 1);
  }
  return quantities;
}

SetRule learn_rule(const std::vector<RuleQuantity>& quantities,
                   const std::vector<std::vector<double>>& times_ns, std::size_t asked,
                   std::size_t fallback) {
  return RuleSearch(quantities, times_ns, asked, fallback).run();
}

RuleLength length_of(const SetRule& rule, const std::vector<RuleQuantity>& quantities) {
  RuleLength length{.cells = rule.cells.size(), .cost = 0};
  for (const RuleCell& cell : rule.cells)
    for (const CellBound& bound : cell.bounds)
      length.cost += std::ranges::find(quantities, bound.quantity, &RuleQuantity::text)->cost;
  return length;
}

}  // namespace ak

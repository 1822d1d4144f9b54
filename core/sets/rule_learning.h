// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/definition.h"
#include "core/sets/set_rule.h"

namespace ak {

/// A quantity by which a rule may tell shapes apart.
struct RuleQuantity {
  std::string text;  ///< an expression over axes: "M", "M * N", "K % 8"
  int cost = 0;      ///< how hard it is to read: of two rules of one length the lower sum wins
  std::vector<std::int64_t> values;  ///< on every timed shape, in order
};

/// So many shapes at most have a part in a rule: their sets are words of the machine.
inline constexpr std::size_t kMaxRuleShapes = 64;

/// Varying axes, products of two that a tensor has both of (more might not fit 64 bits), and whether 8 divides an axis:
/// of 16-bit types that is a vector of 16 bytes.
[[nodiscard]] std::vector<RuleQuantity> rule_quantities(const Definition& definition,
                                                        const std::vector<AxisValues>& shapes);

/// Members within this factor of the fastest on a shape are as good as it there: less says timing noise.
inline constexpr double kAlike = 1.005;
/// What a cell's member may lose on all drawn shapes of the cell together, as a logarithm: 20 % on one, 2 % on ten. Drawn
/// shapes stand for those around them, and a cell that pays on one of them alone is a guess: by cross-validation over 52
/// drawn shapes the rule that splits whenever it pays loses 24 % on shapes never seen, one with this limit 19 %.
inline constexpr double kDrawnLoss = 0.2;

/// A rule that gives every shape asked for one of the members that are as good as the fastest there, and loses little on
/// drawn ones: the one with the fewest cells,
/// of these the one that reads easiest, of these the one whose limits are furthest from the shapes. Limits are geometric
/// means of the values on both sides. Exact as long as the search for it is short; beyond that each split is the one
/// after which the fastest member of either side costs least.
/// @param times_ns by member and shape, positive; infinite where a member does not take the shape. Every shape has one
///        that does. At most 32 members and kMaxRuleShapes distinct shapes.
/// @param asked so many shapes, the first, were asked for; the others are drawn
[[nodiscard]] SetRule learn_rule(const std::vector<RuleQuantity>& quantities,
                                 const std::vector<std::vector<double>>& times_ns, std::size_t asked,
                                 std::size_t fallback);

/// How hard a rule is to read: cells first, then the quantities that they mention.
struct RuleLength {
  std::size_t cells = 0;
  int cost = 0;
  friend auto operator<=>(const RuleLength&, const RuleLength&) = default;
};
[[nodiscard]] RuleLength length_of(const SetRule& rule, const std::vector<RuleQuantity>& quantities);

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
#include "core/sets/set_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/learn/bootstrap.h"

namespace ak {
namespace {

// Combinations looked at: a second with thirty shapes.
constexpr double kMaxCombinations = 1 << 17;
// Sets of the least size whose rules are compared, the fastest first: each rule takes up to a second.
constexpr std::size_t kComparedRules = 8;
constexpr double kRegretConfidence = 0.95;

using Members = std::vector<std::size_t>;

struct RatedMembers {
  Members members;
  double mean_ratio = 1, worst_ratio = 1, drawn_ratio = 1;
};

/// What sets are ranked by: of members or of a choice.
constexpr auto whole_ratio = [](const auto& one) { return one.mean_ratio * one.drawn_ratio; };

class SetSearch {
 public:
  SetSearch(const std::vector<SetCandidate>& candidates, const std::vector<RuleQuantity>& quantities,
            const SetShapes& shapes, const SetLimits& limits)
      : candidates_(candidates),
        quantities_(quantities),
        weights_(shapes.weights),
        asked_(shapes.asked),
        limits_(limits) {
    AK_ASSERT(!candidates.empty() && asked_ > 0 && asked_ <= weights_.size(),
              "a set is chosen from something");
    for (std::size_t shape = 0; shape < weights_.size(); ++shape) {
      double best = std::numeric_limits<double>::infinity();
      for (const SetCandidate& one : candidates) best = std::min(best, one.times_ns[shape]);
      best_ns_.push_back(best);
    }
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (!is_dominated(i)) pool_.push_back(i);
  }

  SetChoice run() const {
    std::optional<SetChoice> nearest;
    Members base;
    for (std::size_t size = 1; size <= std::min(limits_.max_members, pool_.size()); ++size) {
      const std::vector<RatedMembers> rated = sets_of(size, base);
      if (rated.empty()) continue;
      base = rated.front().members;
      if (const auto choice = shortest_rule(rated)) return *choice;
      SetChoice choice = with_rule(rated.front().members);
      if (!nearest || whole_ratio(choice) < whole_ratio(*nearest)) nearest = std::move(choice);
    }
    AK_ASSERT(nearest.has_value(), "a single candidate is a set");
    nearest->within_limits = false;
    return *nearest;
  }

 private:
  /// Another is nowhere slower, and wherever this one may be, it may be too.
  [[nodiscard]] bool is_dominated(std::size_t index) const {
    const SetCandidate& one = candidates_[index];
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const SetCandidate& other = candidates_[i];
      const bool may = other.takes_every_shape >= one.takes_every_shape &&
                       (other.layout == 0 || other.layout == one.layout);
      if (i == index || !may) continue;
      bool nowhere_slower = true, somewhere_faster = i < index;
      for (std::size_t shape = 0; shape < weights_.size(); ++shape) {
        nowhere_slower = nowhere_slower && other.times_ns[shape] <= one.times_ns[shape];
        somewhere_faster = somewhere_faster || other.times_ns[shape] < one.times_ns[shape] ||
                           other.takes_every_shape > one.takes_every_shape;
      }
      if (nowhere_slower && somewhere_faster) return true;
    }
    return false;
  }

  [[nodiscard]] bool may_be(const Members& members) const {
    std::set<std::size_t> layouts;
    bool fallback = false;
    for (const std::size_t member : members) {
      if (candidates_[member].layout != 0) layouts.insert(candidates_[member].layout);
      fallback = fallback || candidates_[member].takes_every_shape;
    }
    return fallback && layouts.size() <= limits_.max_layouts;
  }

  /// Means over shapes that some member takes; infinite where one has none.
  template <class Chosen>
  [[nodiscard]] RatedMembers rated(const Members& members, Chosen chosen_ns) const {
    double worst = 1;
    std::array<double, 2> sums{}, weights{};  // of shapes asked for, and of drawn ones
    for (std::size_t shape = 0; shape < weights_.size(); ++shape) {
      const double ratio = chosen_ns(shape) / best_ns_[shape];
      const std::size_t kind = shape < asked_ ? 0 : 1;
      sums[kind] += weights_[shape] * std::log(ratio);
      weights[kind] += weights_[shape];
      if (shape < asked_) worst = std::max(worst, ratio);
    }
    const auto mean = [&](std::size_t kind) {
      return weights[kind] > 0 ? std::exp(sums[kind] / weights[kind]) : 1.0;
    };
    return {members, mean(0), worst, mean(1)};
  }

  [[nodiscard]] RatedMembers rated(const Members& members) const {
    return rated(members, [&](std::size_t shape) {
      double best = std::numeric_limits<double>::infinity();
      for (const std::size_t member : members) best = std::min(best, candidates_[member].times_ns[shape]);
      return best;
    });
  }

  /// Sets of this size by their mean: all, or those that add a member to `base` where there are too many.
  [[nodiscard]] std::vector<RatedMembers> sets_of(std::size_t size, const Members& base) const {
    std::vector<RatedMembers> list;
    const auto add = [&](const Members& members) {
      if (may_be(members))
        if (RatedMembers one = rated(members); std::isfinite(whole_ratio(one)))
          list.push_back(std::move(one));
    };
    double combinations = 1;
    for (std::size_t i = 0; i < size; ++i)
      combinations *= static_cast<double>(pool_.size() - i) / static_cast<double>(i + 1);
    if (combinations <= kMaxCombinations || base.empty())
      add_combinations(0, size, {}, add);
    else
      add_extensions(base, add);
    std::ranges::stable_sort(list, {}, whole_ratio);
    return list;
  }

  template <class Add>
  void add_combinations(std::size_t first, std::size_t size, Members members, const Add& add) const {
    if (members.size() == size) return add(members);
    for (std::size_t i = first; i + (size - members.size()) <= pool_.size(); ++i) {
      members.push_back(pool_[i]);
      add_combinations(i + 1, size, members, add);
      members.pop_back();
    }
  }

  template <class Add>
  void add_extensions(const Members& base, const Add& add) const {
    for (const std::size_t candidate : pool_) {
      if (std::ranges::find(base, candidate) != base.end()) continue;
      Members members = base;
      members.insert(std::ranges::upper_bound(members, candidate), candidate);
      add(members);
    }
  }

  template <class Rated>
  [[nodiscard]] bool within_limits(const Rated& one) const {
    return one.mean_ratio <= limits_.mean_ratio && one.worst_ratio <= limits_.worst_ratio &&
           one.drawn_ratio <= limits_.drawn_ratio;
  }

  [[nodiscard]] std::optional<SetChoice> shortest_rule(const std::vector<RatedMembers>& sets) const {
    std::optional<SetChoice> found;
    std::size_t compared = 0;
    for (const RatedMembers& one : sets) {
      if (!within_limits(one)) continue;
      if (++compared > kComparedRules) break;
      SetChoice choice = with_rule(one.members);
      if (!within_limits(choice)) continue;
      if (!found || length_of(choice.rule, quantities_) < length_of(found->rule, quantities_))
        found = std::move(choice);
    }
    return found;
  }

  /// The fallback is the member that takes every shape and is fastest over the timed ones that it takes.
  [[nodiscard]] std::size_t fallback_of(const Members& members) const {
    std::optional<std::size_t> fallback;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!candidates_[members[i]].takes_every_shape) continue;
      const double mean = whole_ratio(rated({members[i]}));
      if (!fallback || mean < least) least = mean, fallback = i;
    }
    return fallback.value();
  }

  [[nodiscard]] SetChoice with_rule(const Members& members) const {
    std::vector<std::vector<double>> times;
    for (const std::size_t member : members) times.push_back(candidates_[member].times_ns);
    SetChoice choice{.members = members,
                     .rule = learn_rule(quantities_, times, asked_, fallback_of(members))};
    const RatedMembers chosen =
        rated(members, [&](std::size_t shape) { return times[member_on(choice.rule, shape)][shape]; });
    choice.mean_ratio = chosen.mean_ratio;
    choice.worst_ratio = chosen.worst_ratio;
    choice.drawn_ratio = chosen.drawn_ratio;
    return choice;
  }

  [[nodiscard]] std::size_t member_on(const SetRule& rule, std::size_t shape) const {
    const auto holds = [&](const CellBound& bound) {
      const auto quantity = std::ranges::find(quantities_, bound.quantity, &RuleQuantity::text);
      return bound.above == (quantity->values[shape] > bound.limit);
    };
    const auto cell = std::ranges::find_if(
        rule.cells, [&](const RuleCell& one) { return std::ranges::all_of(one.bounds, holds); });
    return cell->member;
  }

  const std::vector<SetCandidate>& candidates_;
  const std::vector<RuleQuantity>& quantities_;
  const std::vector<double>& weights_;
  std::size_t asked_;
  const SetLimits& limits_;
  std::vector<double> best_ns_;
  std::vector<std::size_t> pool_;  ///< candidates that no other makes useless
};

}  // namespace

SetChoice choose_set(const std::vector<SetCandidate>& candidates, const std::vector<RuleQuantity>& quantities,
                     const SetShapes& shapes, const SetLimits& limits) {
  return SetSearch(candidates, quantities, shapes, limits).run();
}

SetRegret regret_of(const std::vector<double>& ratios) {
  AK_ASSERT(!ratios.empty(), "a regret is of shapes");
  const auto mean_of = [&](auto next) {
    double sum = 0;
    for (std::size_t i = 0; i < ratios.size(); ++i) sum += std::log(ratios[next(i)]);
    return std::exp(sum / static_cast<double>(ratios.size()));
  };
  SetRegret regret{.mean_ratio = mean_of([](std::size_t i) { return i; }),
                   .interval = {},
                   .worst_ratio = *std::ranges::max_element(ratios),
                   .shapes = ratios.size()};
  regret.interval = bootstrap_interval(
      [&](std::mt19937_64& generator) {
        return mean_of([&](std::size_t) { return generator() % ratios.size(); });
      },
      kRegretConfidence);
  return regret;
}

}  // namespace ak

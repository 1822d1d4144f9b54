// SPDX-License-Identifier: Apache-2.0
#include "core/sets/set_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/learn/bootstrap.h"

namespace ak {
namespace {

// Combinations looked at, times the shapes that each is rated on: a second (131,072 with thirty shapes).
constexpr double kMaxRatings = 30.0 * (1 << 17);
constexpr double kRegretConfidence = 0.95;

using Members = std::vector<std::size_t>;

struct RatedMembers {
  Members members;  ///< between which estimates choose
  double mean_ratio = 1, worst_ratio = 1, drawn_ratio = 1, guessed_ratio = 1;
  Members in_rows_alone = {};
};

/// What sets are ranked by.
constexpr auto whole_ratio = [](const RatedMembers& one) {
  return one.mean_ratio * one.drawn_ratio * one.guessed_ratio;
};

class SetSearch {
 public:
  SetSearch(const std::vector<SetCandidate>& candidates, const SetShapes& shapes, const SetLimits& limits)
      : candidates_(candidates),
        weights_(shapes.weights),
        asked_(shapes.asked),
        timed_(shapes.weights.size() - shapes.guessed),
        limits_(limits) {
    AK_ASSERT(!candidates.empty() && asked_ > 0 && shapes.guessed <= weights_.size() && asked_ <= timed_,
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
    std::optional<RatedMembers> nearest, with_own_rows;
    Members base;
    for (std::size_t size = 1; size <= std::min(limits_.max_members, pool_.size()); ++size) {
      const std::vector<RatedMembers> rated = sets_of(size, base);
      if (rated.empty()) continue;
      base = rated.front().members;
      const auto within = std::ranges::find_if(rated, [&](const auto& one) {
        return within_limits(one) && one.guessed_ratio <= limits_.guessed_ratio;
      });
      if (within != rated.end()) return choice_of(*within, true);
      const auto best = std::ranges::find_if(rated, [&](const auto& one) { return within_limits(one); });
      keep_nearer(nearest, best != rated.end() ? *best : rated.front());
      const auto elsewhere = std::ranges::find_if(
          rated, [&](const auto& one) { return one.drawn_ratio <= limits_.drawn_ratio; });
      keep_nearer(with_own_rows, with_rows(elsewhere != rated.end() ? *elsewhere : rated.front()));
    }
    AK_ASSERT(nearest.has_value() && with_own_rows.has_value(), "a single candidate is a set");
    keep_nearer(nearest, std::move(*with_own_rows));
    return choice_of(*nearest, within_limits(*nearest));
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

  /// The member that `ns` of candidates is least of, the first of equal ones.
  [[nodiscard]] std::size_t least(const Members& members, std::vector<double> SetCandidate::*ns,
                                  std::size_t shape) const {
    std::size_t found = 0;
    for (std::size_t i = 1; i < members.size(); ++i)
      if ((candidates_[members[i]].*ns)[shape] < (candidates_[members[found]].*ns)[shape]) found = i;
    return found;
  }
  [[nodiscard]] double time_of(std::size_t candidate, std::size_t shape) const {
    return candidates_[candidate].times_ns[shape];
  }

  /// The candidate that takes the shape: of the least estimate, unless that is slower than another on a shape asked for.
  [[nodiscard]] std::size_t chosen_on(const Members& members, const Members& in_rows_alone,
                                      std::size_t shape) const {
    const std::size_t estimated = members[least(members, &SetCandidate::estimated_ns, shape)];
    if (shape >= asked_) return estimated;
    std::size_t fastest = members[least(members, &SetCandidate::times_ns, shape)];
    for (const std::size_t one : in_rows_alone)
      if (time_of(one, shape) < time_of(fastest, shape)) fastest = one;
    return time_of(estimated, shape) <= kAlike * time_of(fastest, shape) ? estimated : fastest;
  }

  /// Within the limits before others, then the faster one, of equal ones the first.
  void keep_nearer(std::optional<RatedMembers>& nearest, RatedMembers one) const {
    const auto rank = [&](const RatedMembers& set) {
      return std::pair(!within_limits(set), whole_ratio(set));
    };
    if (!nearest || rank(one) < rank(*nearest)) nearest = std::move(one);
  }

  /// By how much shapes asked for are over their limits, and then their mean: what members in rows alone are to lower.
  [[nodiscard]] std::pair<double, double> lack_of(const RatedMembers& one) const {
    const auto over = [](double ratio, double limit) { return std::max(0.0, std::log(ratio / limit)); };
    return {over(one.mean_ratio, limits_.mean_ratio) + over(one.worst_ratio, limits_.worst_ratio),
            one.mean_ratio};
  }

  /// As many as there may be, each time the one that helps the shapes asked for most, until these are within the limits.
  [[nodiscard]] RatedMembers with_rows(RatedMembers set) const {
    while (!asked_within_limits(set) && set.members.size() + set.in_rows_alone.size() < limits_.max_members) {
      std::optional<RatedMembers> best;
      for (const std::size_t candidate : pool_) {
        Members rows = set.in_rows_alone;
        if (std::ranges::find(set.members, candidate) != set.members.end() ||
            std::ranges::find(rows, candidate) != rows.end())
          continue;
        rows.insert(std::ranges::upper_bound(rows, candidate), candidate);
        if (!may_be(together(set.members, rows))) continue;
        RatedMembers more = rated(set.members, rows);
        if (!best || lack_of(more) < lack_of(*best)) best = std::move(more);
      }
      if (!best || lack_of(*best) >= lack_of(set)) break;
      set = without_idle_rows(std::move(*best));
    }
    return set;
  }

  /// A member that was added for a shape may lose it to one that is added later.
  [[nodiscard]] RatedMembers without_idle_rows(RatedMembers set) const {
    std::set<std::size_t> chosen;
    for (std::size_t shape = 0; shape < asked_; ++shape)
      chosen.insert(chosen_on(set.members, set.in_rows_alone, shape));
    std::erase_if(set.in_rows_alone, [&](std::size_t one) { return !chosen.contains(one); });
    return set;
  }

  [[nodiscard]] static Members together(const Members& one, const Members& other) {
    Members all;
    std::ranges::merge(one, other, std::back_inserter(all));
    return all;
  }

  /// Infinite where no member takes a shape.
  [[nodiscard]] RatedMembers rated(const Members& members, const Members& in_rows_alone = {}) const {
    double worst = 1;
    std::array<double, 3> sums{}, weights{};  // of shapes asked for, of drawn ones, and of guessed ones
    for (std::size_t shape = 0; shape < weights_.size(); ++shape) {
      const double ratio = time_of(chosen_on(members, in_rows_alone, shape), shape) / best_ns_[shape];
      const std::size_t kind = shape < asked_ ? 0 : shape < timed_ ? 1 : 2;
      sums[kind] += weights_[shape] * std::log(ratio);
      weights[kind] += weights_[shape];
      if (shape < asked_) worst = std::max(worst, ratio);
    }
    const auto mean = [&](std::size_t kind) {
      return weights[kind] > 0 ? std::exp(sums[kind] / weights[kind]) : 1.0;
    };
    return {members, mean(0), worst, mean(1), mean(2), in_rows_alone};
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
    if (combinations * static_cast<double>(weights_.size()) <= kMaxRatings || base.empty())
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

  [[nodiscard]] bool asked_within_limits(const RatedMembers& one) const {
    return one.mean_ratio <= limits_.mean_ratio && one.worst_ratio <= limits_.worst_ratio;
  }
  [[nodiscard]] bool within_limits(const RatedMembers& one) const {
    return asked_within_limits(one) && one.drawn_ratio <= limits_.drawn_ratio;
  }

  /// The candidate of the members that takes every shape and is fastest over them.
  [[nodiscard]] std::size_t fallback_of(const Members& members) const {
    std::optional<std::size_t> fallback;
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!candidates_[members[i]].takes_every_shape) continue;
      const double mean = whole_ratio(rated({members[i]}));
      if (!fallback || mean < lowest) lowest = mean, fallback = members[i];
    }
    return fallback.value();
  }

  [[nodiscard]] SetChoice choice_of(const RatedMembers& set, bool within) const {
    SetChoice choice{.members = together(set.members, set.in_rows_alone),
                     .in_rows_alone = {},
                     .fallback = 0,
                     .rows = {},
                     .chosen = {},
                     .mean_ratio = set.mean_ratio,
                     .worst_ratio = set.worst_ratio,
                     .drawn_ratio = set.drawn_ratio,
                     .guessed_ratio = set.guessed_ratio,
                     .within_limits = within};
    const auto place_of = [&](std::size_t candidate) {
      return static_cast<std::size_t>(std::ranges::lower_bound(choice.members, candidate) -
                                      choice.members.begin());
    };
    choice.fallback = place_of(fallback_of(set.members));
    for (const std::size_t one : set.in_rows_alone) choice.in_rows_alone.push_back(place_of(one));
    for (std::size_t shape = 0; shape < weights_.size(); ++shape) {
      const std::size_t chosen = chosen_on(set.members, set.in_rows_alone, shape);
      choice.chosen.push_back(place_of(chosen));
      if (chosen != set.members[least(set.members, &SetCandidate::estimated_ns, shape)])
        choice.rows.push_back({shape, choice.chosen.back()});
    }
    return choice;
  }

  const std::vector<SetCandidate>& candidates_;
  const std::vector<double>& weights_;
  std::size_t asked_, timed_;  ///< so many of the first shapes
  const SetLimits& limits_;
  std::vector<double> best_ns_;
  std::vector<std::size_t> pool_;  ///< candidates that no other makes useless
};

}  // namespace

SetChoice choose_set(const std::vector<SetCandidate>& candidates, const SetShapes& shapes,
                     const SetLimits& limits) {
  return SetSearch(candidates, shapes, limits).run();
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/search/earlier_searches.h"
#include "agent/search/gain_chances.h"
#include "core/plan/launch_plan.h"
#include "core/tuning/tunable_space.h"

namespace ak::agent {

/// Ask-and-tell search over one space, whose values are integers. Seeded: the same seed and the same answers give the same proposals.
/// Never proposes a point twice. Used by one thread.
class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  /// Next point to try, or nothing when the space is exhausted. May be called again before answers arrive.
  virtual std::optional<TunableValues> ask() = 0;
  /// `time_ns` absent: the point failed.
  virtual void tell(const TunableValues& point, std::optional<double> time_ns) = 0;
  /// No answer will come for a point that was asked for.
  virtual void give_up(const TunableValues&) {}
  /// Of a strategy of several members, the name of the one that chose the last point; else empty.
  [[nodiscard]] virtual std::string_view member_name() const { return {}; }
  /// How much faster than `best_ns` the points may be that have no answer; nothing: not known. Takes as long as ten
  /// proposals, and changes none.
  [[nodiscard]] virtual std::optional<GainChances> gain_chances(double /*best_ns*/) { return std::nullopt; }
};

/// A search method by its name. The table of strategies is in agent/CMakeLists.txt; each row is a file in
/// agent/search/strategies/ that defines one of these.
struct Strategy {
  std::string_view name;     ///< stored in the database; never renamed
  std::string_view summary;  ///< one line for --help
  std::unique_ptr<SearchStrategy> (*make)(std::shared_ptr<const TunableSpace> space, std::uint64_t seed,
                                          const EarlierSearches& earlier);
  bool learns = true;  ///< from answers: it begins with a prior, and its gain_chances() may say something
};
/// All of them, in the order of the table.
[[nodiscard]] std::span<const Strategy* const> strategies();
/// Their names, in that order.
[[nodiscard]] std::vector<std::string_view> strategy_names();
/// nullptr: there is none of this name.
[[nodiscard]] const Strategy* find_strategy(std::string_view name);
/// What to say of a name that is none: the nearest, and all there are.
[[nodiscard]] std::string unknown_strategy(std::string_view name);

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "agent/search/history.h"

namespace ak::agent {

/// A way to choose the next point from what is known. One alone is a strategy, or several share a
/// history; so it hears of points that it did not propose.
class Member {
 public:
  virtual ~Member() = default;
  /// An unseen point; there is one.
  [[nodiscard]] virtual PointNumber pick(const History& history, Engine& engine) = 0;
  /// Whether pick() looks at the history's prior; for others, a search begins with the points that are expected to be
  /// the fastest.
  [[nodiscard]] virtual bool uses_prior() const { return false; }
  /// An answer came; the history holds it already.
  virtual void learn(const History&, const Observation&, Engine&) {}
  /// As SearchStrategy::member_name().
  [[nodiscard]] virtual std::string_view member_name() const { return {}; }
};

/// A strategy of one member.
[[nodiscard]] std::unique_ptr<SearchStrategy> stand_alone(std::shared_ptr<const TunableSpace> space,
                                                          std::uint64_t seed, const EarlierSearches& earlier,
                                                          std::unique_ptr<Member> member);

/// Strategy::make of a strategy of one member that has no settings.
template <typename OneMember>
[[nodiscard]] std::unique_ptr<SearchStrategy> alone(std::shared_ptr<const TunableSpace> space,
                                                    std::uint64_t seed, const EarlierSearches& earlier) {
  return stand_alone(std::move(space), seed, earlier, std::make_unique<OneMember>());
}

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/search/earlier_searches.h"
#include "core/evaluation.h"
#include "core/store.h"

namespace ak::app {

/// What the searches of a set's shapes have found, for those that follow: one model over shapes. Used by one thread.
class SharedAnswers {
 public:
  /// @param templates of all of these searches; must outlive this
  explicit SharedAnswers(const std::vector<Candidate>& templates);

  /// An evaluation of a search of `shape` alone.
  void note(const Workload& shape, const std::string& device, const Completed& completed);

  /// By template, what a search of `shape` begins with: the answers on every other shape, the nearest first, and then
  /// `beyond`, which other runs found.
  [[nodiscard]] std::vector<agent::EarlierSearches> earlier(
      const Workload& shape, const std::vector<agent::EarlierSearches>& beyond) const;

  /// By template, what is known of `shape` itself, for a search that goes on with it.
  [[nodiscard]] std::vector<std::vector<KnownPoint>> known(const Workload& shape) const;

  /// By template, the points that can be no member, whichever shape they are tried on: those that do not build, and
  /// those that are wrong.
  [[nodiscard]] const std::vector<std::set<TunableValues>>& failed() const { return failed_; }

 private:
  struct OfShape {
    AxisValues axes;
    std::vector<agent::EarlierSearch> of_templates;
  };
  OfShape& of(const Workload& shape, const std::string& device);

  const std::vector<Candidate>& templates_;
  std::vector<OfShape> shapes_;
  std::vector<std::set<TunableValues>> failed_;
};

/// Indices of the shapes in the order in which they are tuned: the one that is the nearest to all others, and then always
/// the one that is the nearest to those before it, so that every search knows shapes near its own.
[[nodiscard]] std::vector<std::size_t> tuning_order(const std::vector<Workload>& shapes);

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "agent/search/strategy.h"
#include "core/tuning/measured_space.h"

namespace ak::agent {

/// A brute-forced space in the form in which strategies search it. Values that are not integers are replaced
/// by their places in the parameter's list, and names are in lower case, because tools differ in that. Immutable; several threads may replay over it.
class ReplaySpace {
 public:
  /// `measured` has at least one point with a time.
  explicit ReplaySpace(const MeasuredSpace& measured);

  [[nodiscard]] const std::shared_ptr<const TunableSpace>& search_space() const { return space_; }
  [[nodiscard]] double best_ns() const { return best_ns_; }
  /// Time of a point, or nothing: it failed, or was never measured.
  [[nodiscard]] std::optional<double> time_ns(const TunableValues& point) const;
  /// What the record says that a point took to build and to time; 0 where it says nothing.
  struct Spent {
    double compile_s = 0, benchmark_s = 0;
  };
  [[nodiscard]] Spent spent(const TunableValues& point) const;

 private:
  struct Record {
    std::optional<double> time_ns;
    Spent spent;
  };
  std::shared_ptr<const TunableSpace> space_;
  std::map<TunableValues, Record> records_;
  double best_ns_ = 0;
};

struct Replay {
  /// After 1, 2, ... evaluations: the best time of the space over the best found, 0 while all have failed. A
  /// run that ends early keeps its last value.
  std::vector<double> fractions;
  std::optional<std::size_t> reached;  ///< evaluations until `target` of the optimum was reached
  /// What the strategy said it could still gain, every tenth evaluation, and what it could.
  struct Verdict {
    std::size_t evaluations = 0;
    RemainingGain gain;
    double left = 0;  ///< 1 minus the fraction of the optimum
  };
  std::vector<Verdict> verdicts;    ///< where asked for and known
  double spent_s = 0;               ///< building and timing, one after the other, until then or the end
  std::vector<double> proposal_ns;  ///< of every ask, with the tell that follows: the thread's CPU time
};

struct ReplayPlan {
  std::size_t budget = 220;      ///< evaluations
  double target = 0.95;          ///< fraction of the optimum
  std::size_t devices = 1;       ///< so many points are in flight, and answered in their order
  bool verdicts = false;         ///< are asked for
  EarlierSearches earlier = {};  ///< what the strategy begins with
};

/// Searches with recorded times: every new point costs one evaluation, also one that fails; one that was
/// proposed before costs nothing and is answered again.
[[nodiscard]] Replay replay(const ReplaySpace& space, const Strategy& strategy, std::uint64_t seed,
                            const ReplayPlan& plan);

/// What a search of so many evaluations finds, as the beginning of another one.
[[nodiscard]] EarlierSearch answers_of(const ReplaySpace& space, const Strategy& strategy, std::uint64_t seed,
                                       std::size_t budget);

}  // namespace ak::agent

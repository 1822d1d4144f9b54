// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/learn/point_correlation.h"

namespace ak {

/// An answer of an earlier search, or a predicted one.
struct EarlierAnswer {
  Ordinals point;                  ///< of the present space or not; every rank is one of its tunables'
  std::optional<double> log_time;  ///< ln(ns); absent: it failed
};

/// What searches elsewhere say of the points of the present one: a Gaussian process for the answers of each group, which
/// are of one shape, params and device. Used by one thread.
class TimePrior {
 public:
  /// A Gaussian process's time grows with its answers, and with their square where it is fitted: of more, the fastest are
  /// kept and others evenly (chosen: time).
  static constexpr std::size_t kMaxGroups = 6, kMaxAnswersOfGroup = 250, kMaxAnswers = 1000;

  /// The first kMaxGroups groups with two times count.
  TimePrior(const TunableAxes& tunables, std::vector<std::vector<EarlierAnswer>> groups);
  ~TimePrior();
  TimePrior(const TimePrior&) = delete;
  TimePrior& operator=(const TimePrior&) = delete;

  [[nodiscard]] std::size_t groups() const { return groups_.size(); }

  /// Of the answers near a point, in all groups, how many worked and failed.
  struct Outcomes {
    double worked = 0, failed = 0;
  };
  /// The log time at a point, less the mean of the group's answers. Adds the answers near it to `outcomes`.
  [[nodiscard]] double expect(std::size_t group, const Ordinals& point, Outcomes& outcomes) const;
  /// Of a PointCorrelation of these tunables: how much each counts, mean of the groups whose kernels put their own answers in
  /// about their order; nothing where there is none.
  [[nodiscard]] std::vector<double> kernel_parameters() const;

 private:
  class Group;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace ak

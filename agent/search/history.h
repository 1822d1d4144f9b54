// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "agent/search/draw.h"
#include "agent/search/points.h"
#include "agent/search/remaining_numbers.h"
#include "agent/search/search_prior.h"

namespace ak::agent {

/// One answer.
struct Observation {
  PointNumber point = 0;
  std::optional<double> log_time;  ///< ln(ns); absent: the point failed
};

/// What a search knows of its space: which points were proposed, and their results.
class History {
 public:
  explicit History(std::shared_ptr<const TunableSpace> space, const EarlierSearches& earlier = {});
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  [[nodiscard]] const Points& points() const { return points_; }
  /// What earlier searches say; null: nothing.
  [[nodiscard]] SearchPrior* prior() const { return prior_.get(); }
  /// Not proposed and not told.
  [[nodiscard]] bool unseen(PointNumber point) const { return unseen_.contains(point); }
  /// Points of the space without an answer.
  [[nodiscard]] std::uint64_t unanswered() const { return points_.size() - answer_.size(); }
  [[nodiscard]] bool exhausted() const { return unseen_.size() == 0; }
  /// Answers in the order in which they came.
  [[nodiscard]] const std::vector<Observation>& told() const { return told_; }
  /// Proposed and not told yet, in the order of the proposals.
  [[nodiscard]] const std::vector<PointNumber>& pending() const { return pending_; }
  [[nodiscard]] bool answered(PointNumber point) const { return answer_.contains(point); }
  /// Nothing where the point failed or was not told.
  [[nodiscard]] std::optional<double> log_time(PointNumber point) const;
  /// The fastest answer so far.
  [[nodiscard]] const std::optional<Observation>& best() const { return best_; }
  /// Up to `count` answers with a time, the fastest first.
  [[nodiscard]] std::vector<Observation> fastest(std::size_t count) const;

  /// A uniform unseen point. There must be one, here and below.
  [[nodiscard]] PointNumber draw_unseen(Engine& engine) const { return unseen_.draw(engine); }
  /// Up to `count` unseen points, drawn without replacement, in a random order.
  [[nodiscard]] std::vector<PointNumber> sample_unseen(Engine& engine, std::size_t count) const {
    return unseen_.sample(engine, count);
  }
  /// An unseen point close to these coordinates, themselves valid or not (Points::closest()).
  [[nodiscard]] PointNumber snap(Engine& engine, OrdinalsView ordinals) const;

  void propose(PointNumber point);
  /// Its answer will not come; it is not proposed again.
  void give_up(PointNumber point);
  /// False when it was known before: the first answer counts.
  bool tell(PointNumber point, std::optional<double> time_ns);

 private:
  Points points_;
  std::unique_ptr<SearchPrior> prior_;
  RemainingNumbers unseen_;
  std::unordered_map<PointNumber, std::size_t> answer_;  ///< of a point in told_
  std::vector<PointNumber> pending_;
  std::vector<Observation> told_;
  std::optional<Observation> best_;
};

}  // namespace ak::agent

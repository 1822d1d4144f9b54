// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/search/draw.h"
#include "agent/search/points.h"

namespace ak::agent {

/// One answer.
struct Observation {
  std::size_t point = 0;
  std::optional<double> log_time;  ///< ln(ns); absent: the point failed
};

/// What a search knows of its space: which points were proposed, and their results.
class History {
 public:
  explicit History(const SearchSpace& space);

  [[nodiscard]] const Points& points() const { return points_; }
  /// Not proposed and not told.
  [[nodiscard]] bool unseen(std::size_t point) const { return place_[point] != kSeen; }
  [[nodiscard]] const std::vector<std::uint32_t>& unseen() const { return unseen_; }
  /// Answers in the order in which they came.
  [[nodiscard]] const std::vector<Observation>& told() const { return told_; }
  /// Proposed and not told yet, in the order of the proposals.
  [[nodiscard]] const std::vector<std::size_t>& pending() const { return pending_; }
  [[nodiscard]] bool answered(std::size_t point) const { return answer_[point] != kSeen; }
  /// Nothing where the point failed or was not told.
  [[nodiscard]] std::optional<double> log_time(std::size_t point) const;
  /// The fastest answer so far.
  [[nodiscard]] const std::optional<Observation>& best() const { return best_; }
  /// Up to `count` answers with a time, the fastest first.
  [[nodiscard]] std::vector<Observation> fastest(std::size_t count) const;

  /// A uniform unseen point. There must be one, here and below.
  [[nodiscard]] std::size_t draw_unseen(Engine& engine) const;
  /// Up to `count` unseen points, drawn without replacement, in a random order.
  [[nodiscard]] std::vector<std::size_t> sample_unseen(Engine& engine, std::size_t count) const;
  /// The unseen point closest to these coordinates, themselves valid or not; ties by chance. In a large
  /// space, the closest of a sample.
  [[nodiscard]] std::size_t snap(Engine& engine, Ordinals ordinals) const;

  void propose(std::size_t point);
  /// Its answer will not come; it is not proposed again.
  void give_up(std::size_t point);
  /// False when it was known before: the first answer counts.
  bool tell(std::size_t point, std::optional<double> time_ns);

 private:
  static constexpr std::uint32_t kSeen = 0xffff'ffff;
  void remove_unseen(std::size_t point);

  Points points_;
  std::vector<std::uint32_t> unseen_;
  std::vector<std::uint32_t> place_;   ///< of a point in unseen_, or kSeen
  std::vector<std::uint32_t> answer_;  ///< of a point in told_, or kSeen
  std::vector<std::size_t> pending_;
  std::vector<Observation> told_;
  std::optional<Observation> best_;
};

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/search/draw.h"
#include "agent/search/remaining_numbers.h"
#include "agent/search/strategy.h"
#include "core/learn/point_kernel.h"

namespace ak::agent {

/// The number of a point in its space.
using PointNumber = std::uint64_t;

/// The points of a space by number, with their coordinates. Immutable.
class Points {
 public:
  explicit Points(std::shared_ptr<const TunableSpace> space);
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  [[nodiscard]] std::uint64_t size() const { return space_->size(); }
  [[nodiscard]] std::size_t axes() const { return values_.size(); }
  [[nodiscard]] const TunableAxes& tunables() const { return values_; }
  /// Values of an axis, ascending.
  [[nodiscard]] const std::vector<std::int64_t>& values(std::size_t axis) const { return values_[axis]; }
  [[nodiscard]] std::size_t extent(std::size_t axis) const { return values_[axis].size(); }
  [[nodiscard]] Ordinals ordinals(PointNumber number) const;
  [[nodiscard]] TunableValues tunable_values(PointNumber number) const;
  [[nodiscard]] std::optional<PointNumber> find(OrdinalsView ordinals) const;
  [[nodiscard]] std::optional<PointNumber> find(const TunableValues& values) const;
  /// Coordinates of values that may be none of the space's points; nothing where a tunable with a choice is not named,
  /// or has not this value here.
  [[nodiscard]] std::optional<Ordinals> place(const TunableValues& values) const;

  /// The points that differ in one axis, in the order of axes and values.
  [[nodiscard]] std::vector<PointNumber> neighbours(PointNumber number) const;
  /// Those of them that lie next to it: the closest valid value below and above on every axis.
  [[nodiscard]] std::vector<PointNumber> adjacent(PointNumber number) const;
  /// The closest of the `unseen` points, of which there is one, by the sum over axes of |difference| / (extent - 1);
  /// ties by chance. Where many are unseen and none of them is near, the closest of some of them.
  [[nodiscard]] PointNumber closest(Engine& engine, OrdinalsView ordinals,
                                    const RemainingNumbers& unseen) const;

 private:
  std::shared_ptr<const TunableSpace> space_;
  TunableAxes values_;
  std::vector<Ordinals> ranks_;                    ///< of each axis: of the space's values, their ranks
  std::vector<std::vector<std::uint16_t>> order_;  ///< of each axis: of ranks, the space's values
};

}  // namespace ak::agent

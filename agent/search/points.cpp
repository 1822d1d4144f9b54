// SPDX-License-Identifier: Apache-2.0
#include "agent/search/points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/tuning/cheapest_points.h"
#include "core/tuning/plan_space.h"

namespace ak::agent {
namespace {

// Well below the difference of two distances that are not equal.
constexpr double kTie = 1e-9;
// What a proposal may take (chosen: either takes less than a millisecond): points seen before that are passed on the way
// to the closest, and unseen ones that are compared instead, which are all where there are no more.
constexpr std::size_t kWalked = 500, kCompared = 500;

}  // namespace

Points::Points(std::shared_ptr<const TunableSpace> space) : space_(std::move(space)) {
  for (const TuningParameter& parameter : space_->parameters()) {
    std::vector<std::int64_t> values;
    for (const TuningValue& value : parameter.values) values.push_back(std::get<std::int64_t>(value));
    auto& order = order_.emplace_back(values.size());
    std::iota(order.begin(), order.end(), std::uint16_t{0});
    std::ranges::sort(order, {}, [&](std::uint16_t at) { return values[at]; });
    auto& ranks = ranks_.emplace_back(values.size(), u'\0');
    auto& ascending = values_.emplace_back();
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      ranks[order[rank]] = static_cast<char16_t>(rank);
      ascending.push_back(values[order[rank]]);
    }
  }
}

Ordinals Points::ordinals(PointNumber number) const {
  const TuningPoint point = space_->point(number);
  Ordinals result(point.size(), u'\0');
  for (std::size_t axis = 0; axis < point.size(); ++axis) result[axis] = ranks_[axis][point[axis]];
  return result;
}

TunableValues Points::tunable_values(PointNumber number) const {
  return tunables_of(*space_, space_->point(number));
}

std::optional<PointNumber> Points::find(OrdinalsView ordinals) const {
  TuningPoint point(ordinals.size());
  for (std::size_t axis = 0; axis < point.size(); ++axis) point[axis] = order_[axis][ordinals[axis]];
  return space_->index_of(point);
}

std::optional<PointNumber> Points::find(const TunableValues& values) const {
  const auto point = point_of(*space_, values);
  return point ? space_->index_of(*point) : std::nullopt;
}

std::optional<Ordinals> Points::place(const TunableValues& values) const {
  Ordinals result(axes(), u'\0');
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    if (extent(axis) == 1) continue;
    const auto named = values.find(space_->parameters()[axis].name);
    if (named == values.end()) return std::nullopt;
    const auto found = std::ranges::lower_bound(values_[axis], named->second);
    if (found == values_[axis].end() || *found != named->second) return std::nullopt;
    result[axis] = static_cast<char16_t>(found - values_[axis].begin());
  }
  return result;
}

std::vector<PointNumber> Points::neighbours(PointNumber number) const {
  std::vector<PointNumber> result;
  Ordinals moved = ordinals(number);
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    const char16_t own = moved[axis];
    for (std::size_t ordinal = 0; ordinal < extent(axis); ++ordinal) {
      moved[axis] = static_cast<char16_t>(ordinal);
      if (ordinal == own) continue;
      if (const auto found = find(moved)) result.push_back(*found);
    }
    moved[axis] = own;
  }
  return result;
}

std::vector<PointNumber> Points::adjacent(PointNumber number) const {
  std::vector<PointNumber> result;
  Ordinals moved = ordinals(number);
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    const int own = moved[axis], end = static_cast<int>(extent(axis));
    for (const int step : {-1, 1}) {
      for (int ordinal = own + step; ordinal >= 0 && ordinal < end; ordinal += step) {
        moved[axis] = static_cast<char16_t>(ordinal);
        const auto found = find(moved);
        if (!found) continue;
        result.push_back(*found);
        break;
      }
    }
    moved[axis] = static_cast<char16_t>(own);
  }
  return result;
}

PointNumber Points::closest(Engine& engine, OrdinalsView ordinals, const RemainingNumbers& unseen) const {
  if (const auto exact = find(ordinals); exact && unseen.contains(*exact)) return *exact;
  std::vector<std::vector<double>> distances;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    auto& of_values = distances.emplace_back();
    const double scale = static_cast<double>(std::max<std::size_t>(extent(axis), 2) - 1);
    for (const char16_t rank : ranks_[axis])
      of_values.push_back(std::abs(int{rank} - int{ordinals[axis]}) / scale + kTie * draw_unit(engine));
  }
  if (unseen.size() > kCompared) {
    CheapestPoints nearest(*space_, distances);
    for (std::size_t walked = 0; walked < kWalked; ++walked)
      if (const PointNumber number = nearest.next().value(); unseen.contains(number)) return number;
  }
  const std::vector<PointNumber> compared = unseen.sample(engine, kCompared);
  return *std::ranges::min_element(compared, {}, [&](PointNumber number) {
    const TuningPoint point = space_->point(number);
    double distance = 0;
    for (std::size_t axis = 0; axis < point.size(); ++axis) distance += distances[axis][point[axis]];
    return distance;
  });
}

}  // namespace ak::agent

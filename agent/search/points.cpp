// SPDX-License-Identifier: Apache-2.0
#include "agent/search/points.h"

#include <algorithm>
#include <cmath>

namespace ak::agent {
namespace {

std::optional<char16_t> rank(const std::vector<std::int64_t>& values, std::int64_t value) {
  const auto found = std::ranges::lower_bound(values, value);
  if (found == values.end() || *found != value) return std::nullopt;
  return static_cast<char16_t>(found - values.begin());
}

}  // namespace

Points::Points(const SearchSpace& space) : size_(space.points.size()) {
  for (const Tunable& tunable : space.tunables) {
    names_.push_back(tunable.name);
    values_.push_back(tunable.values);
    std::ranges::sort(values_.back());
  }
  ordinals_.reserve(size_ * axes());
  for (const TunableValues& point : space.points) {
    for (std::size_t axis = 0; axis < axes(); ++axis)
      ordinals_.push_back(rank(values_[axis], point.at(names_[axis])).value());
  }
  index_.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) index_.emplace(at(i), static_cast<std::uint32_t>(i));
}

TunableValues Points::tunable_values(std::size_t index) const {
  TunableValues result;
  for (std::size_t axis = 0; axis < axes(); ++axis)
    result.emplace(names_[axis], values_[axis][ordinals(index)[axis]]);
  return result;
}

std::optional<std::size_t> Points::find(Ordinals ordinals) const {
  const auto found = index_.find(ordinals);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> Points::find(const TunableValues& values) const {
  std::u16string ordinals;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    const auto value = values.find(names_[axis]);
    const auto ordinal = value == values.end() ? std::nullopt : rank(values_[axis], value->second);
    if (!ordinal) return std::nullopt;
    ordinals.push_back(*ordinal);
  }
  return find(ordinals);
}

std::vector<std::size_t> Points::neighbours(std::size_t index) const {
  std::vector<std::size_t> result;
  std::u16string moved(ordinals(index));
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

std::vector<std::size_t> Points::adjacent(std::size_t index) const {
  std::vector<std::size_t> result;
  std::u16string moved(ordinals(index));
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

double Points::distance(Ordinals a, Ordinals b) const {
  double sum = 0;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    if (a[axis] == b[axis]) continue;
    sum += std::abs(int{a[axis]} - int{b[axis]}) / static_cast<double>(extent(axis) - 1);
  }
  return sum;
}

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/search/strategy.h"

namespace ak::agent {

/// A point's coordinates: for every tunable the rank of its value in ascending order. (A string, because the
/// standard hashes those.)
using Ordinals = std::u16string_view;

/// The points of a space by index, with their coordinates. Immutable.
class Points {
 public:
  explicit Points(const SearchSpace& space);
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t axes() const { return values_.size(); }
  /// Values of an axis, ascending.
  [[nodiscard]] const std::vector<std::int64_t>& values(std::size_t axis) const { return values_[axis]; }
  [[nodiscard]] std::size_t extent(std::size_t axis) const { return values_[axis].size(); }
  [[nodiscard]] Ordinals ordinals(std::size_t index) const { return at(index); }
  [[nodiscard]] TunableValues tunable_values(std::size_t index) const;
  [[nodiscard]] std::optional<std::size_t> find(Ordinals ordinals) const;
  [[nodiscard]] std::optional<std::size_t> find(const TunableValues& values) const;

  /// Indices of the points that differ in one axis, in the order of axes and values.
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t index) const;
  /// Those of them that lie next to it: the closest valid value below and above on every axis.
  [[nodiscard]] std::vector<std::size_t> adjacent(std::size_t index) const;
  /// Sum over axes of |difference| / (extent - 1).
  [[nodiscard]] double distance(Ordinals a, Ordinals b) const;

 private:
  [[nodiscard]] Ordinals at(std::size_t index) const {
    return Ordinals(ordinals_).substr(index * axes(), axes());
  }

  std::vector<std::string> names_;
  std::vector<std::vector<std::int64_t>> values_;
  std::size_t size_ = 0;
  std::u16string ordinals_;  ///< row `index` holds axes() of them
  std::unordered_map<Ordinals, std::uint32_t> index_;
};

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/cell_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "codegen/problem/held_out.h"
#include "codegen/problem/problem_reader.h"

namespace ak::codegen {
namespace {

// Of an axis next to a corner that itself is no legal size: multiples of up to 64 have one there (chosen).
constexpr std::int64_t kNearCorner = 63;

/// Where on an axis a shape of a corner or an edge lies.
enum class Place : std::uint8_t { low, middle, high };

std::int64_t middle_of(const AxisRange& axis) {
  const double middle = std::sqrt(static_cast<double>(axis.low)) * std::sqrt(static_cast<double>(axis.high));
  return std::clamp(static_cast<std::int64_t>(middle), axis.low, axis.high);
}

/// Between these sizes, both included; nothing where no legal size is.
std::optional<AxisRange> between(const AxisRange& axis, std::int64_t low, std::int64_t high) {
  AxisRange part = axis;
  std::erase_if(part.values, [&](std::int64_t value) { return value < low || value > high; });
  if (!axis.values.empty()) {
    if (part.values.empty()) return std::nullopt;
    part.low = part.values.front(), part.high = part.values.back();
    return part;
  }
  part.low = std::max(low, axis.low), part.high = std::min(high, axis.high);
  const std::int64_t first = (part.low + part.multiple - 1) / part.multiple * part.multiple;
  return first <= part.high ? std::optional(part) : std::nullopt;
}

/// The part of a range that a cell's bounds on single axes leave; nothing where they leave none.
std::optional<HeldOutRange> part_of(const HeldOutRange& range, const RuleCell& cell) {
  HeldOutRange part = range;
  for (const CellBound& bound : cell.bounds) {
    const auto axis = part.axes.find(bound.quantity);
    if (axis == part.axes.end()) continue;
    const auto left = bound.above ? between(axis->second, bound.limit + 1, axis->second.high)
                                  : between(axis->second, axis->second.low, bound.limit);
    if (!left) return std::nullopt;
    axis->second = *left;
  }
  return part;
}

/// Between the timed shapes of a cell.
HeldOutRange around(const std::vector<AxisValues>& shapes) {
  HeldOutRange range{.name = "timed shapes", .axes = {}};
  for (const auto& [axis, size] : shapes.front()) {
    AxisRange& bounds = range.axes[axis] = {.low = size, .high = size};
    for (const AxisValues& shape : shapes) {
      bounds.low = std::min(bounds.low, shape.at(axis));
      bounds.high = std::max(bounds.high, shape.at(axis));
    }
  }
  return range;
}

class CellShapes {
 public:
  CellShapes(const ProblemInstance& problem, const SetRule& rule, std::size_t cell, std::uint64_t seed)
      : problem_(problem), rule_(rule), cell_(cell), seed_(seed) {}

  void add_corners(const HeldOutRange& range) {
    std::vector<Place> places(range.axes.size(), Place::low);
    const auto visit = [&](const auto& next, std::size_t axis) -> void {
      if (axis == places.size()) return add_at(range, places);
      for (const Place place : {Place::low, Place::high}) places[axis] = place, next(next, axis + 1);
    };
    visit(visit, 0);
  }

  /// One axis at an end, the others in the middle; then on the bounds of products.
  void add_edges(const HeldOutRange& range) {
    for (std::size_t axis = 0; axis < range.axes.size(); ++axis)
      for (const Place place : {Place::low, Place::high}) {
        std::vector<Place> places(range.axes.size(), Place::middle);
        places[axis] = place;
        add_at(range, places);
      }
    for (const CellBound& bound : rule_.cells[cell_].bounds) add_on_product(range, bound);
  }

  void add_drawn(const HeldOutRange& range) { add(range); }

  [[nodiscard]] std::size_t count() const { return shapes_.size(); }
  [[nodiscard]] std::vector<Workload> workloads(WorkloadTier tier) const {
    std::vector<Workload> list;
    for (const AxisValues& shape : shapes_) {
      Workload& workload = list.emplace_back();
      workload.name = fmt::format("cell_{}_{}", cell_ + 1, list.size());
      workload.axes = shape;
      workload.uid = workload_uid(problem_, shape);
      workload.roles = {WorkloadRole::check};
      workload.tier = tier;
    }
    return list;
  }

 private:
  [[nodiscard]] bool is_inside(const AxisValues& sizes) const {
    return rule_.cell_of(problem_.environment(sizes)) == cell_;
  }

  bool add(const HeldOutRange& range) {
    const ShapeWishes wishes{.accepts = [&](const AxisValues& sizes) {
      return is_inside(sizes) && std::ranges::find(shapes_, sizes) == shapes_.end();
    }};
    const auto shape = draw_shape(problem_, range, seed_, draws_++, wishes);
    if (shape) shapes_.push_back(*shape);
    return shape.ok();
  }

  void add_at(const HeldOutRange& range, const std::vector<Place>& places) {
    HeldOutRange exact = range, near = range;
    std::size_t index = 0;
    for (auto& [name, axis] : exact.axes) {
      const Place place = places[index++];
      const std::int64_t size = place == Place::low    ? axis.low
                                : place == Place::high ? axis.high
                                                       : middle_of(axis);
      const auto beside = between(axis, size - (place == Place::high ? kNearCorner : 0),
                                  size + (place == Place::high ? 0 : kNearCorner));
      if (beside) near.axes[name] = *beside;
      axis = between(axis, size, size).value_or(near.axes[name]);
    }
    if (!add(exact)) add(near);
  }

  /// "M * N <= 4096" with M at its ends and in its middle, and N as large as the bound allows, or one more.
  void add_on_product(const HeldOutRange& range, const CellBound& bound) {
    const std::size_t times = bound.quantity.find(" * ");
    if (times == std::string::npos) return;
    const auto one = range.axes.find(bound.quantity.substr(0, times)),
               other = range.axes.find(bound.quantity.substr(times + 3));
    if (one == range.axes.end() || other == range.axes.end()) return;
    for (const std::int64_t size : {one->second.low, middle_of(one->second), one->second.high}) {
      const std::int64_t limit = bound.limit / size + (bound.above ? 1 : 0);
      const auto first = between(one->second, size, size);
      for (const std::int64_t near : {std::int64_t{0}, kNearCorner}) {
        const auto second =
            between(other->second, limit - (bound.above ? 0 : near), limit + (bound.above ? near : 0));
        if (!first || !second) continue;
        HeldOutRange edge = range;
        edge.axes[one->first] = *first, edge.axes[other->first] = *second;
        if (add(edge)) break;
      }
    }
  }

  const ProblemInstance& problem_;
  const SetRule& rule_;
  std::size_t cell_;
  std::uint64_t seed_;
  std::uint32_t draws_ = 0;
  std::vector<AxisValues> shapes_;
};

bool suits(const HeldOutRange& range, DeviceKind device) {
  return device == DeviceKind::emulator ? range.tier == WorkloadTier::emulator
                                        : range.tier != WorkloadTier::deep;
}

}  // namespace

std::vector<Workload> cell_shapes(const ProblemInstance& problem, const SetRule& rule, std::size_t cell,
                                  DeviceKind device, const std::vector<AxisValues>& timed,
                                  std::uint64_t seed) {
  std::vector<HeldOutRange> ranges;
  for (const HeldOutRange& range : problem.held_out)
    if (suits(range, device))
      if (const auto part = part_of(range, rule.cells[cell])) ranges.push_back(*part);
  CellShapes shapes(problem, rule, cell, seed);
  const auto fill = [&] {
    for (const HeldOutRange& range : ranges) shapes.add_corners(range), shapes.add_edges(range);
    for (int i = 0; i < kDrawnInCell && !ranges.empty(); ++i)
      shapes.add_drawn(ranges[static_cast<std::size_t>(i) % ranges.size()]);
  };
  fill();
  std::vector<AxisValues> own;
  for (const AxisValues& shape : timed)
    if (rule.cell_of(problem.environment(shape)) == cell) own.push_back(shape);
  if (shapes.count() == 0 && !own.empty()) {
    ranges = {around(own)};
    fill();
  }
  return shapes.workloads(device == DeviceKind::emulator ? WorkloadTier::emulator : WorkloadTier::gpu);
}

}  // namespace ak::codegen

// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/member_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "codegen/problem/held_out.h"
#include "codegen/problem/problem_reader.h"

namespace ak::codegen {
namespace {

// Of an axis next to a corner that itself is no legal size: multiples of up to 64 have one there (chosen).
constexpr std::int64_t kNearCorner = 63;
// Of so small a piece a member mostly has all or nothing: a hundredth of it is missed in one of eight (chosen).
constexpr std::uint32_t kDrawsNearCorner = 200;

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

/// Between the timed shapes of a member.
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

class MemberShapes {
 public:
  MemberShapes(const ProblemInstance& problem, const IsItsShape& is_its, std::uint64_t seed)
      : problem_(problem), is_its_(is_its), seed_(seed) {}

  void add_corners(const HeldOutRange& range) {
    std::vector<Place> places(range.axes.size(), Place::low);
    const auto visit = [&](const auto& next, std::size_t axis) -> void {
      if (axis == places.size()) return add_at(range, places);
      for (const Place place : {Place::low, Place::high}) places[axis] = place, next(next, axis + 1);
    };
    visit(visit, 0);
  }

  /// One axis at an end, the others in the middle.
  void add_edges(const HeldOutRange& range) {
    for (std::size_t axis = 0; axis < range.axes.size(); ++axis)
      for (const Place place : {Place::low, Place::high}) {
        std::vector<Place> places(range.axes.size(), Place::middle);
        places[axis] = place;
        add_at(range, places);
      }
  }

  void add_drawn(const HeldOutRange& range) {
    const auto drawn = add(range);
    if (drawn) drawn_.emplace_back(*drawn, &range);
  }

  /// Beside drawn shapes, one after another for each axis and direction: the last that is the member's on the way to the
  /// end of the range, where that is another's.
  void add_borders() {
    if (drawn_.empty()) return;
    std::size_t next = 0;
    const std::size_t axes = drawn_.front().first.size();
    for (std::size_t axis = 0; axis < axes; ++axis)
      for (const bool up : {false, true}) {
        const auto& [shape, range] = drawn_[next++ % drawn_.size()];
        add_border(shape, *range, std::next(shape.begin(), static_cast<std::ptrdiff_t>(axis))->first, up);
      }
  }

  [[nodiscard]] std::size_t count() const { return shapes_.size(); }
  [[nodiscard]] std::vector<Workload> workloads(std::size_t number, WorkloadTier tier) const {
    std::vector<Workload> list;
    for (const AxisValues& shape : shapes_) {
      Workload& workload = list.emplace_back();
      workload.name = fmt::format("member_{}_{}", number, list.size());
      workload.axes = shape;
      workload.uid = workload_uid(problem_, shape);
      workload.roles = {WorkloadRole::check};
      workload.tier = tier;
    }
    return list;
  }

 private:
  std::optional<AxisValues> add(const HeldOutRange& range, std::uint32_t draws = kMaxShapeDraws) {
    const ShapeWishes wishes{.draws = draws, .accepts = [&](const AxisValues& sizes) {
                               return std::ranges::find(shapes_, sizes) == shapes_.end() && is_its_(sizes);
                             }};
    const auto shape = draw_shape(problem_, range, seed_, draws_++, wishes);
    if (!shape) return std::nullopt;
    shapes_.push_back(*shape);
    return *shape;
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
    // As many draws in either case, so that all members ask about the same shapes.
    if (add(exact, kDrawsNearCorner))
      ++draws_;
    else
      add(near, kDrawsNearCorner);
  }

  /// By halving: between `shape` and the end of the range there is a last one, and though there may be several, it is one.
  void add_border(const AxisValues& shape, const HeldOutRange& range, const std::string& axis, bool up) {
    const auto legal = range.axes.find(axis);
    if (legal == range.axes.end() || !legal->second.values.empty()) return;
    const std::int64_t step = legal->second.multiple;
    const auto is_its_at = [&](std::int64_t size) {
      AxisValues moved = shape;
      moved[axis] = size * step;
      return is_its_(moved);
    };
    std::int64_t own = shape.at(axis) / step,
                 other = up ? legal->second.high / step : (legal->second.low + step - 1) / step;
    if (is_its_at(other)) return;
    while (std::abs(other - own) > 1) {
      const std::int64_t middle = own + (other - own) / 2;
      (is_its_at(middle) ? own : other) = middle;
    }
    HeldOutRange border = range;
    for (auto& [name, bounds] : border.axes)
      if (const auto exact = between(bounds, shape.at(name), shape.at(name))) bounds = *exact;
    if (const auto exact = between(legal->second, own * step, own * step)) border.axes[axis] = *exact;
    add(border);
  }

  const ProblemInstance& problem_;
  const IsItsShape& is_its_;
  std::uint64_t seed_;
  std::uint32_t draws_ = 0;
  std::vector<AxisValues> shapes_;
  std::vector<std::pair<AxisValues, const HeldOutRange*>> drawn_;
};

bool suits(const HeldOutRange& range, DeviceKind device) {
  return device == DeviceKind::emulator ? range.tier == WorkloadTier::emulator
                                        : range.tier != WorkloadTier::deep;
}

}  // namespace

std::vector<Workload> member_shapes(const ProblemInstance& problem, const IsItsShape& is_its,
                                    std::size_t number, DeviceKind device,
                                    const std::vector<AxisValues>& timed, std::uint64_t seed) {
  std::vector<HeldOutRange> ranges;
  for (const HeldOutRange& range : problem.held_out)
    if (suits(range, device)) ranges.push_back(range);
  MemberShapes shapes(problem, is_its, seed);
  const auto fill = [&] {
    for (const HeldOutRange& range : ranges) shapes.add_corners(range), shapes.add_edges(range);
    for (int i = 0; i < kDrawnForMember && !ranges.empty(); ++i)
      shapes.add_drawn(ranges[static_cast<std::size_t>(i) % ranges.size()]);
    shapes.add_borders();
  };
  fill();
  std::vector<AxisValues> own;
  std::ranges::copy_if(timed, std::back_inserter(own), is_its);
  if (shapes.count() == 0 && !own.empty()) {
    ranges = {around(own)};
    fill();
  }
  return shapes.workloads(number,
                          device == DeviceKind::emulator ? WorkloadTier::emulator : WorkloadTier::gpu);
}

}  // namespace ak::codegen

// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/tunable_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/tuning/space_builder.h"

namespace ak {

Result<TunableSpace> TunableSpace::build_without(SpaceRules rules, std::size_t max_bytes,
                                                 std::vector<char> ignored) {
  TunableSpace space;
  space.rules_ = std::move(rules);
  space.max_bytes_ = max_bytes;
  if (auto input_error = SpaceBuilder(space, max_bytes, std::move(ignored)).build())
    return *std::move(input_error);
  return space;
}

Result<TunableSpace> TunableSpace::build(SpaceRules rules, std::size_t max_bytes) {
  return build_without(std::move(rules), max_bytes, {});
}

Result<TunableSpace> TunableSpace::build(std::vector<TuningParameter> parameters,
                                         std::vector<std::string> constraints) {
  if (parameters.empty()) return InputError{"the space has no parameters"};
  return build({.parameters = std::move(parameters), .constraints = std::move(constraints)});
}

double TunableSpace::raw_size() const {
  double size = 1;
  for (const TuningParameter& parameter : parameters()) size *= static_cast<double>(parameter.values.size());
  return size;
}

TuningPoint TunableSpace::point(std::uint64_t index) const {
  AK_ASSERT(index < size_, "points are numbered from 0 to size() - 1");
  TuningPoint point(parameters().size());
  std::uint32_t node = 0;
  for (std::size_t layer = 0; layer < order_.size(); ++layer) {
    const auto [begin, end] = nodes_[layer][node];
    const auto after =
        std::upper_bound(edges_.begin() + begin, edges_.begin() + end, index,
                         [](std::uint64_t wanted, const Edge& edge) { return wanted < edge.before; });
    const Edge& edge = *std::prev(after);
    point[order_[layer]] = edge.value;
    index -= edge.before;
    node = edge.child;
  }
  return point;
}

std::optional<std::uint64_t> TunableSpace::index_of(std::span<const std::uint16_t> point) const {
  if (point.size() != parameters().size() || size_ == 0) return std::nullopt;
  std::uint64_t index = 0;
  std::uint32_t node = 0;
  for (std::size_t layer = 0; layer < order_.size(); ++layer) {
    const auto [begin, end] = nodes_[layer][node];
    const std::uint16_t value = point[order_[layer]];
    const auto edge = std::lower_bound(edges_.begin() + begin, edges_.begin() + end, value,
                                       [](const Edge& e, std::uint16_t wanted) { return e.value < wanted; });
    if (edge == edges_.begin() + end || edge->value != value) return std::nullopt;
    index += edge->before;
    node = edge->child;
  }
  return index;
}

std::optional<TuningPoint> TunableSpace::find(std::span<const TuningValue> values) const {
  if (values.size() != parameters().size()) return std::nullopt;
  TuningPoint point;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = std::ranges::find(parameters()[i].values, values[i]);
    if (found == parameters()[i].values.end()) return std::nullopt;
    point.push_back(static_cast<std::uint16_t>(found - parameters()[i].values.begin()));
  }
  return index_of(point) ? std::optional(point) : std::nullopt;
}

std::vector<TuningValue> TunableSpace::values(std::span<const std::uint16_t> point) const {
  std::vector<TuningValue> values;
  for (std::size_t i = 0; i < point.size(); ++i) values.push_back(parameters()[i].values[point[i]]);
  return values;
}

TuningPoint TunableSpace::sample(std::mt19937_64& engine) const {
  AK_ASSERT(size_ > 0, "an empty space has nothing to draw");
  // Draws at or above the largest multiple of the size would favour small numbers.
  const std::uint64_t excess = (0 - size_) % size_;
  std::uint64_t value = engine();
  while (value < excess) value = engine();
  return point(value % size_);
}

std::vector<std::uint64_t> TunableSpace::neighbours(std::span<const std::uint16_t> point,
                                                    Neighbourhood neighbourhood) const {
  std::vector<std::uint64_t> found;
  TuningPoint other(point.begin(), point.end());
  for (std::size_t i = 0; i < other.size(); ++i) {
    const auto count = static_cast<int>(parameters()[i].values.size());
    for (const int step : {-1, 1}) {
      for (int value = point[i] + step; value >= 0 && value < count; value += step) {
        other[i] = static_cast<std::uint16_t>(value);
        const auto index = index_of(other);
        if (index) found.push_back(*index);
        if (index && neighbourhood == Neighbourhood::adjacent) break;
      }
    }
    other[i] = point[i];
  }
  return found;
}

std::vector<double> TunableSpace::encode(std::span<const std::uint16_t> point) const {
  std::vector<double> encoded;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const std::size_t last = parameters()[i].values.size() - 1;
    encoded.push_back(last == 0 ? 0 : static_cast<double>(point[i]) / static_cast<double>(last));
  }
  return encoded;
}

std::vector<std::string> contradiction(const TunableSpace& space) {
  if (space.size() > 0) return {};
  const SpaceRules& rules = space.rules_;
  std::vector<std::string> texts = rules.constraints;
  for (const auto& [name, text] : rules.derived)
    texts.push_back(fmt::format("a value of {} = {}", name, text));
  std::vector<char> ignored(texts.size(), 0);
  std::vector<std::string> needed;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ignored[i] = 1;
    const auto reduced = TunableSpace::build_without(rules, space.max_bytes_, ignored);
    if (reduced.ok() && reduced->size() == 0) continue;
    ignored[i] = 0;
    needed.push_back(texts[i]);
  }
  return needed;
}

}  // namespace ak

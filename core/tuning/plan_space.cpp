// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/plan_space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/tuning/cheapest_points.h"

namespace ak {
namespace {

// A third of the 50 MB that a search may take, because growing vectors need up to three times their size for a
// moment.
constexpr std::size_t kMaxPlanSpaceBytes = std::size_t{16} << 20;
// More than all doublings together: 64 of each of the 62 tunables that a space may have.
constexpr double kDiffers = 4096;

bool uses_known_names(const Expression& expression, const std::set<std::string, std::less<>>& known) {
  return std::ranges::includes(known, expression.names());
}

double doublings(std::int64_t from, std::int64_t to) {
  return std::abs(
      std::log2((std::abs(static_cast<double>(from)) + 1) / (std::abs(static_cast<double>(to)) + 1)));
}

}  // namespace

Result<TunableSpace> plan_space(const LaunchPlan& plan, const Environment& environment) {
  SpaceRules rules{
      .parameters = {}, .constraints = {}, .known = environment, .arithmetic = Arithmetic::integer};
  std::set<std::string, std::less<>> names;
  for (const auto& [name, value] : environment) names.insert(name);
  for (const Tunable& tunable : plan.tunables) {
    rules.parameters.push_back({tunable.name, {tunable.values.begin(), tunable.values.end()}});
    names.insert(tunable.name);
  }
  for (const auto& [name, expression] : plan.let) {
    if (!uses_known_names(expression, names)) continue;
    rules.derived.emplace_back(name, expression.text());
    names.insert(name);
  }
  for (const Expression& constraint : plan.constraints)
    if (uses_known_names(constraint, names)) rules.constraints.push_back(constraint.text());
  return TunableSpace::build(std::move(rules), kMaxPlanSpaceBytes);
}

TunableValues tunables_of(const TunableSpace& space, std::span<const std::uint16_t> point) {
  TunableValues tunables;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const TuningParameter& parameter = space.parameters()[i];
    tunables.emplace(parameter.name, std::get<std::int64_t>(parameter.values[point[i]]));
  }
  return tunables;
}

std::optional<TuningPoint> point_of(const TunableSpace& space, const TunableValues& tunables) {
  std::vector<TuningValue> values;
  for (const TuningParameter& parameter : space.parameters()) {
    const auto value = tunables.find(parameter.name);
    if (value == tunables.end()) return std::nullopt;
    values.emplace_back(value->second);
  }
  return space.find(values);
}

std::vector<TunableValues> nearest_points(const TunableSpace& space, const TunableValues& tunables,
                                          std::size_t count) {
  std::vector<std::vector<double>> costs;
  for (const TuningParameter& parameter : space.parameters()) {
    auto& of_values = costs.emplace_back();
    const auto own = tunables.find(parameter.name);
    for (const TuningValue& value : parameter.values) {
      const auto other = std::get<std::int64_t>(value);
      const bool same = own == tunables.end() || own->second == other;
      of_values.push_back(same ? 0 : kDiffers + doublings(own->second, other));
    }
  }
  CheapestPoints nearest(space, std::move(costs));
  std::vector<TunableValues> points;
  while (points.size() < count) {
    const auto number = nearest.next();
    if (!number) break;
    points.push_back(tunables_of(space, space.point(*number)));
  }
  return points;
}

}  // namespace ak

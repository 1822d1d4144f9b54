// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/measured_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ak {
namespace {

/// Adds to every parameter the values that occur and are not listed; a parameter without any gets all of them
/// in ascending order.
void add_values(std::vector<TuningParameter>& parameters,
                const std::vector<MeasuredSpaceBuilder::Row>& rows) {
  for (TuningParameter& parameter : parameters) {
    std::set<TuningValue> missing;
    for (const auto& row : rows) missing.insert(row.values.at(parameter.name));
    for (const TuningValue& listed : parameter.values) missing.erase(listed);
    parameter.values.insert(parameter.values.end(), missing.begin(), missing.end());
  }
}

std::optional<InputError> check_names(const std::vector<TuningParameter>& parameters,
                                      const std::vector<MeasuredSpaceBuilder::Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const TuningParameter& parameter : parameters) {
      if (!rows[i].values.contains(parameter.name))
        return InputError{fmt::format("result {} has no value for parameter {}", i + 1, parameter.name)};
    }
    if (rows[i].values.size() == parameters.size()) continue;
    return InputError{
        fmt::format("result {} has {} parameters, not {}: results of several kernels in one file?", i + 1,
                    rows[i].values.size(), parameters.size())};
  }
  return std::nullopt;
}

std::string joined_names(const std::vector<TuningParameter>& parameters) {
  std::vector<std::string> names;
  for (const TuningParameter& parameter : parameters) names.push_back(parameter.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<double> MeasuredSpace::best_ns() const {
  std::optional<double> best;
  for (const MeasuredPoint& point : points)
    if (point.time_ns && (!best || *point.time_ns < *best)) best = point.time_ns;
  return best;
}

std::size_t MeasuredSpace::failures() const {
  return static_cast<std::size_t>(std::ranges::count_if(points, [](const auto& p) { return !p.time_ns; }));
}

Result<MeasuredSpace> MeasuredSpaceBuilder::finish(std::vector<TuningParameter> parameters) {
  if (rows_.empty()) return InputError{"the file has no results"};
  if (parameters.empty())
    for (const auto& entry : rows_.front().values) parameters.push_back({entry.first, {}});
  if (const auto input_error = check_names(parameters, rows_)) return *input_error;
  add_values(parameters, rows_);
  MeasuredSpace space;
  std::map<TuningPoint, std::size_t> places;
  std::vector<std::map<TuningValue, std::uint16_t>> ordinals(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (std::size_t v = 0; v < parameters[i].values.size(); ++v)
      ordinals[i].emplace(parameters[i].values[v], static_cast<std::uint16_t>(v));
  std::size_t repeated = 0;
  for (Row& row : rows_) {
    TuningPoint& point = row.result.point;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      point.push_back(ordinals[i].at(row.values.at(parameters[i].name)));
    const auto [place, fresh] = places.emplace(point, space.points.size());
    repeated += fresh ? 0 : 1;
    if (fresh) space.points.emplace_back();
    space.points[place->second] = std::move(row.result);
  }
  if (repeated > 0) space.notes.push_back(fmt::format("{} points occur again; the last counts", repeated));
  if (space.failures() == space.points.size()) space.notes.push_back("every point failed");
  space.parameters = std::move(parameters);
  return space;
}

std::optional<InputError> mismatch(const MeasuredSpace& measured, const TunableSpace& space) {
  std::set<std::string> have, want;
  for (const TuningParameter& parameter : measured.parameters) have.insert(parameter.name);
  for (const TuningParameter& parameter : space.parameters()) want.insert(parameter.name);
  if (have != want)
    return InputError{fmt::format("results of another kernel: they have the parameters {}, the definition {}",
                                  joined_names(measured.parameters), joined_names(space.parameters()))};
  std::size_t outside = 0;
  std::string first;
  for (const MeasuredPoint& point : measured.points) {
    std::vector<TuningValue> values;
    for (const TuningParameter& parameter : space.parameters()) {
      const auto at = static_cast<std::size_t>(
          std::ranges::find(measured.parameters, parameter.name, &TuningParameter::name) -
          measured.parameters.begin());
      values.push_back(measured.parameters[at].values[point.point[at]]);
    }
    if (space.find(values) || outside++ > 0) continue;
    for (const TuningValue& value : values) first += (first.empty() ? "" : ",") + to_string(value);
  }
  if (outside == 0) return std::nullopt;
  return InputError{fmt::format("{} of {} points are not in the defined space, the first ({})", outside,
                                measured.points.size(), first)};
}

}  // namespace ak

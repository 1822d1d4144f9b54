// SPDX-License-Identifier: Apache-2.0
#include "app/search/best_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace ak::app {
namespace {

/// Nothing where another family of devices is too far away.
std::optional<MatchLevel> match_level_of(const BestPoint& point, const BestQuestion& question) {
  if (point.device == question.device.name) return MatchLevel::device;
  const bool estimated = point.emulated && question.device.kind != DeviceKind::emulator;
  if (point.arch.number() == question.arch.number())
    return estimated ? MatchLevel::emulated_arch : MatchLevel::arch;
  if (point.arch.major != question.arch.major) return std::nullopt;
  return estimated ? MatchLevel::emulated_family : MatchLevel::family;
}

/// Its constraints hold and its launches are within the limits of the device, on the shape asked for.
bool valid(const LaunchPlan& plan, const TunableValues& point, const BestQuestion& question) {
  for (const Tunable& tunable : plan.tunables) {
    const auto value = point.find(tunable.name);
    if (value == point.end() || std::ranges::find(tunable.values, value->second) == tunable.values.end())
      return false;
  }
  Environment environment = question.problem->environment(question.shape);
  environment.merge(device_environment(question.device, question.arch));
  for (const auto& [name, value] : point) environment[name] = value;
  const Result<ResolvedPlan> resolved = resolve(plan, environment);
  const std::int64_t most = question.device.shared_bytes_per_block;
  return resolved.ok() && std::ranges::all_of(resolved->launches, [&](const ResolvedLaunch& launch) {
           return most == 0 || launch.shared_bytes <= most;
         });
}

std::string_view device_text(MatchLevel level) {
  switch (level) {
    case MatchLevel::device:
      return "";
    case MatchLevel::arch:
      return "another device of the same architecture";
    case MatchLevel::family:
      return "another architecture of the same family";
    case MatchLevel::emulated_arch:
      return "a cost estimated on the CPU device for the same architecture, no GPU time";
    case MatchLevel::emulated_family:
      return "a cost estimated on the CPU device for another architecture of the same family, no GPU time";
  }
  return "";
}

/// The template that a point is of: the same text, else the same name; nothing where there is none.
/// @param hashes of the templates' texts
std::optional<std::size_t> template_of(const BestPoints& best, const BestPoint& point,
                                       const std::vector<Candidate>& templates,
                                       const std::vector<std::string>& hashes) {
  const auto same_text = std::ranges::find(hashes, point.source);
  if (same_text != hashes.end()) return static_cast<std::size_t>(same_text - hashes.begin());
  const auto same_name = std::ranges::find(templates, best.sources.at(point.source).name, &Candidate::name);
  if (same_name == templates.end()) return std::nullopt;
  return static_cast<std::size_t>(same_name - templates.begin());
}

}  // namespace

double shape_distance(const AxisValues& a, const AxisValues& b) {
  double distance = 0;
  for (const auto& [name, size] : a) {
    const auto other = b.find(name);
    if (other == b.end() || size <= 0 || other->second <= 0) return INFINITY;
    distance += std::abs(std::log2(static_cast<double>(size) / static_cast<double>(other->second)));
  }
  return a.size() == b.size() ? distance : INFINITY;
}

bool same_params(const Json& stored, const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&cell = json[name]](const auto& v) { cell = v; }, value);
  return stored == json;
}

std::vector<BestMatch> best_matches(const BestPoints& best, const BestQuestion& question, bool any_params) {
  std::vector<BestMatch> matches;
  for (const BestPoint& point : best.points) {
    const auto level = match_level_of(point, question);
    if (point.problem != question.problem->problem || !level) continue;
    const BestMatch match{.point = &point,
                          .level = *level,
                          .same_params = same_params(point.params, question.problem->params),
                          .distance = shape_distance(question.shape, point.shape)};
    if (!std::isfinite(match.distance) || (!match.same_params && !any_params)) continue;
    if (valid(best.sources.at(point.source).plan, point.tunables, question)) matches.push_back(match);
  }
  std::ranges::stable_sort(matches, {}, [](const BestMatch& match) {
    return std::tuple(match.level, !match.same_params, match.distance, match.point->time_ns);
  });
  return matches;
}

std::string match_text(const BestMatch& match, const BestQuestion& question) {
  if (match.exact()) return "exact: measured for this shape on this device";
  std::string text = "not exact:";
  const Definition& definition = question.problem->definition;
  if (match.distance > 0)
    text += fmt::format(" measured for the shape {}, {:.2g} doublings from {};",
                        shape_name(definition, match.point->shape), match.distance,
                        shape_name(definition, question.shape));
  if (!match.same_params) text += fmt::format(" measured for {};", match.point->definition);
  if (match.level != MatchLevel::device)
    text += fmt::format(" measured on {}: {};", match.point->device, device_text(match.level));
  text.pop_back();
  return text;
}

std::vector<agent::FirstPoint> first_points(const BestPoints& best,
                                            const FirstPointOptions& first_point_options,
                                            const std::shared_ptr<const ProblemInstance>& problem,
                                            const std::vector<Candidate>& templates,
                                            const DeviceFacts& device, const Arch& arch) {
  using Rank = std::tuple<std::size_t,
                          double>;  // among the matches of its shape; the weight of the shape, largest first
  std::vector<std::string> hashes;
  for (const Candidate& candidate : templates) hashes.push_back(candidate.source_hash());
  std::vector<std::pair<Rank, agent::FirstPoint>> found;
  for (const Workload& workload : problem->workloads) {
    if (!workload.has(WorkloadRole::time)) continue;
    const BestQuestion question{.problem = problem, .shape = workload.axes, .device = device, .arch = arch};
    std::size_t rank = 0;
    for (const BestMatch& match : best_matches(best, question, false)) {
      const auto index = template_of(best, *match.point, templates, hashes);
      // Where the text has changed the point must be one of the new plan, too.
      if (!index || !valid(templates[*index].plan, match.point->tunables, question)) continue;
      agent::FirstPoint first{
          .template_index = *index, .point = match.point->tunables, .arm = first_point_options.arm};
      found.emplace_back(Rank{rank++, -workload.weight}, std::move(first));
      if (rank == first_point_options.most) break;
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& entry) { return entry.first; });
  std::vector<agent::FirstPoint> points;
  for (auto& entry : found) {
    agent::FirstPoint& first = entry.second;
    const bool known = std::ranges::any_of(points, [&](const agent::FirstPoint& other) {
      return other.template_index == first.template_index && other.point == first.point;
    });
    if (!known && points.size() < first_point_options.most) points.push_back(std::move(first));
  }
  return points;
}

}  // namespace ak::app

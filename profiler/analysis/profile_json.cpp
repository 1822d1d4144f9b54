// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/profile_json.h"

#include "core/plan/dtype.h"

namespace ak::profiler {
namespace {

Json lines_json(const std::vector<LineSamples>& lines) {
  Json json = Json::array();
  for (const LineSamples& line : lines) json.push_back({{"line", line.line}, {"samples", line.samples}});
  return json;
}

Json kernel_json(const KernelFacts& kernel) {
  return {{"registers", kernel.registers},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"stack_bytes", kernel.stack_bytes},
          {"static_shared_bytes", kernel.static_shared_bytes}};
}

Json facts_json(const AnalysisInput& input) {
  Json json{{"grid", input.grid},
            {"block", input.block},
            {"kernel", kernel_json(input.kernel)},
            {"device", to_json(input.device)},
            {"work", {{"flops", input.work.flops}, {"bytes", input.work.bytes}}},
            {"floor", {{"time_ns", input.floor.time.value()}, {"reason", input.floor.reason}}},
            {"launches", input.launches},
            {"float64", input.float64}};
  if (input.time_ns) json["time_ns"] = *input.time_ns;
  if (input.matrix_type) json["matrix_type"] = std::string(info(*input.matrix_type).name);
  if (const auto& fits = input.occupancy) {
    json["occupancy"] = {
        {"blocks_per_sm", fits->blocks_per_sm}, {"ratio", fits->ratio}, {"limiter", fits->limiter}};
  }
  return json;
}

Json finding_json(const Finding& finding) {
  Json remedies = Json::array();
  for (const Advice& advice : finding.remedies) {
    remedies.push_back({{"text", advice.text}, {"at_most", advice.at_most}});
  }
  return {{"bottleneck", finding.name}, {"title", finding.title}, {"evidence", finding.evidence},
          {"at_most", finding.at_most}, {"sure", finding.sure},   {"remedies", remedies},
          {"source", finding.source}};
}

Json unit_json(const UnitUse& use) {
  Json json{{"unit", use.name}, {"percent", use.percent}};
  if (use.rate) json.update({{"rate", *use.rate}, {"peak", *use.peak}, {"rate_unit", use.unit}});
  return json;
}

Json launch_analysis_json(const Analysis& analysis) {
  Json json = finding_json(analysis.bottleneck);
  json["kernel"] = analysis.kernel;
  json["basis"] = analysis.basis;
  json["others"] = Json::array();
  for (const Finding& finding : analysis.others) json["others"].push_back(finding_json(finding));
  json["units"] = Json::array();
  for (const UnitUse& use : analysis.units) json["units"].push_back(unit_json(use));
  if (analysis.times_speed_of_light) {
    json["speed_of_light"] = {{"times", *analysis.times_speed_of_light}, {"limit", analysis.speed_of_light}};
  }
  json["not_judged"] = analysis.not_judged;
  return json;
}

double duration_of(const ProfiledLaunch& launch) {
  const auto found = launch.input.launch.metrics.find("time/duration");
  return found == launch.input.launch.metrics.end() ? 0 : found->second;
}

}  // namespace

Json profile_json(const Profile& profile, std::span<const ProfiledLaunch> launches) {
  Json list = Json::array();
  for (const ProfiledLaunch& launch : launches) {
    const LaunchProfile& seen = launch.input.launch;
    list.push_back({{"kernel", seen.kernel},
                    {"metrics", seen.metrics},
                    {"lines", lines_json(seen.lines)},
                    {"facts", facts_json(launch.input)}});
  }
  Json json = to_json(profile);
  json["launches"] = std::move(list);
  return json;
}

const ProfiledLaunch* longest(std::span<const ProfiledLaunch> launches) {
  const ProfiledLaunch* found = nullptr;
  for (const ProfiledLaunch& launch : launches) {
    if (found == nullptr || duration_of(launch) > duration_of(*found)) found = &launch;
  }
  return found;
}

Json analysis_json(std::span<const ProfiledLaunch> launches) {
  const ProfiledLaunch* most = longest(launches);
  if (most == nullptr) return Json::object();
  Json json = launch_analysis_json(most->analysis);
  json["launches"] = Json::array();
  for (const ProfiledLaunch& launch : launches) {
    json["launches"].push_back(launch_analysis_json(launch.analysis));
  }
  return json;
}

}  // namespace ak::profiler

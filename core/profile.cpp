// SPDX-License-Identifier: Apache-2.0
#include "core/profile.h"

namespace ak {
namespace {

Json launch_json(const LaunchProfile& launch) {
  Json lines = Json::array();
  for (const LineSamples& line : launch.lines)
    lines.push_back({{"line", line.line}, {"samples", line.samples}});
  return {{"kernel", launch.kernel}, {"metrics", launch.metrics}, {"lines", std::move(lines)}};
}

LaunchProfile launch_from(const Json& json) {
  LaunchProfile launch{
      .kernel = json.at("kernel"), .metrics = json.at("metrics").get<Metrics>(), .lines = {}};
  for (const Json& line : json.at("lines")) {
    launch.lines.push_back(
        {.line = line.at("line"), .samples = line.at("samples").get<std::map<std::string, std::uint64_t>>()});
  }
  return launch;
}

}  // namespace

Json to_json(const ProfileOptions& profile_options) {
  return {{"metrics", profile_options.metrics}, {"sample_lines", profile_options.sample_lines}};
}

ProfileOptions profile_options_from_json(const Json& json) {
  return {.metrics = json.at("metrics").get<std::vector<std::string>>(),
          .sample_lines = json.at("sample_lines")};
}

Json to_json(const Profile& profile) {
  Json launches = Json::array();
  for (const LaunchProfile& launch : profile.launches) launches.push_back(launch_json(launch));
  return {{"workload", profile.workload},       {"method", profile.method},
          {"launches", std::move(launches)},    {"units", profile.units},
          {"degradation", profile.degradation}, {"passes", profile.passes},
          {"setup_ms", profile.setup_ms},       {"collect_ms", profile.collect_ms}};
}

Profile profile_from_json(const Json& json) {
  Profile profile{.workload = json.at("workload"),
                  .method = json.at("method"),
                  .launches = {},
                  .units = json.at("units").get<std::map<std::string, std::string>>(),
                  .degradation = json.at("degradation").get<std::vector<std::string>>(),
                  .passes = json.at("passes"),
                  .setup_ms = json.at("setup_ms"),
                  .collect_ms = json.at("collect_ms")};
  for (const Json& launch : json.at("launches")) profile.launches.push_back(launch_from(launch));
  return profile;
}

}  // namespace ak

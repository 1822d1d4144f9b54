// SPDX-License-Identifier: Apache-2.0
#include "core/profile.h"

#include "core/error.h"
#include "core/message/message_fields.h"

namespace ak {
namespace {

Json launch_json(const LaunchProfile& launch) {
  Json lines = Json::array();
  for (const LineSamples& line : launch.lines)
    lines.push_back({{"line", line.line}, {"samples", line.samples}});
  return {{"kernel", launch.kernel}, {"metrics", launch.metrics}, {"lines", std::move(lines)}};
}

// What honest profiles stay below by far: a device has some thousand metrics, a candidate at most 1 MiB of source.
constexpr std::size_t kMaxProfileName = 4'096;
constexpr std::size_t kMaxProfileNames = 100'000;
constexpr std::int64_t kMaxProfileInt = INT32_MAX;
constexpr std::int64_t kMaxProfileMs = std::int64_t{1} << 40;

/// An object of values by name.
template <auto member, auto read_value>
void take_map(const JsonReader& at, take::Owner<member>& message) {
  if (at.json().is_object() && at.json().size() > kMaxProfileNames)
    at.reject("more names than a profile has");
  for (const auto& [name, value] : at.members()) {
    if (name.size() > kMaxProfileName) value.reject("a name this long");
    (message.*member)[sanitize(name, kMaxProfileName)] = read_value(value);
  }
}

double one_number(const JsonReader& at) { return at.number(); }

std::uint64_t one_count(const JsonReader& at) {
  if (!at.json().is_number_unsigned()) at.fail("an integer that is not negative");
  return at.json().get<std::uint64_t>();
}

std::string one_name(const JsonReader& at) {
  return sanitize(take::bounded_text(at, kMaxProfileName), kMaxProfileName);
}

constexpr Field<LineSamples> kLineFields[] = {{"line", take::integer<&LineSamples::line, 0, kMaxProfileInt>},
                                              {"samples", take_map<&LineSamples::samples, one_count>}};

LineSamples line_from(const JsonReader& at) { return read_fields(at, kLineFields); }

constexpr Field<LaunchProfile> kLaunchFields[] = {
    {"kernel", take::words<&LaunchProfile::kernel, kMaxProfileName>},
    {"metrics", take_map<&LaunchProfile::metrics, one_number>},
    {"lines", take::list<&LaunchProfile::lines, line_from, kMaxProfileNames>}};

LaunchProfile launch_from(const JsonReader& at) { return read_fields(at, kLaunchFields); }

constexpr Field<Profile> kProfileFields[] = {
    {"workload", take::text<&Profile::workload, kMaxProfileName>},
    {"method", take::words<&Profile::method, 16>},
    {"launches", take::list<&Profile::launches, launch_from, kMaxProfileNames>},
    {"units", take_map<&Profile::units, one_name>},
    {"degradation", take::list<&Profile::degradation, one_name, kMaxProfileNames>},
    {"passes", take::integer<&Profile::passes, 0, kMaxProfileInt>},
    {"setup_ms", take::number<&Profile::setup_ms, 0, kMaxProfileMs>},
    {"collect_ms", take::number<&Profile::collect_ms, 0, kMaxProfileMs>}};

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
  try {
    return read_fields(JsonReader(json), kProfileFields);
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "profile: {}", error.what());
  }
}

}  // namespace ak

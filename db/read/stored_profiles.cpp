// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "db/read/evaluation_parts.h"
#include "db/rows.h"
#include "db/store/line_metrics.h"

namespace ak::db {
namespace {

// Kernels in the order in which they were stored.
constexpr const char* kProfiles = R"sql(
SELECT w.name AS workload, m.kernel AS kernel, m.name AS name, m.unit AS unit, m.value AS value,
       min(m.id) OVER (PARTITION BY m.kernel) AS place
FROM metrics m JOIN workloads w ON w.id = m.workload_id
WHERE m.kernel <> '' AND m.evaluation_id =
  (SELECT e.id FROM evaluations e JOIN devices d ON d.id = e.device_id
   WHERE e.variant_id = :variant AND d.name = :device
     AND EXISTS (SELECT 1 FROM metrics k WHERE k.evaluation_id = e.id AND k.kernel <> '')
   ORDER BY e.ended_at DESC, e.id DESC LIMIT 1)
ORDER BY w.id, place, m.id)sql";

/// The launch that the row belongs to: the last one, or a new one.
LaunchProfile& launch_of(Profile& profile, const std::string& kernel) {
  if (profile.launches.empty() || profile.launches.back().kernel != kernel)
    profile.launches.push_back({.kernel = kernel, .metrics = {}, .lines = {}});
  return profile.launches.back();
}

/// A metric of a launch, or samples of one of its lines.
void add_metric(Profile& profile, LaunchProfile& launch, const Rows& row) {
  const std::string name = row.text("name");
  const double value = row.real("value").value_or(0);
  if (const auto sampled = line_of_metric(name)) {
    auto line = std::ranges::find(launch.lines, sampled->first, &LineSamples::line);
    if (line == launch.lines.end()) line = launch.lines.insert(line, {.line = sampled->first, .samples = {}});
    line->samples[sampled->second] = static_cast<std::uint64_t>(value);
    return;
  }
  profile.units[name] = row.text("unit");
  launch.metrics[name] = value;
}

}  // namespace

std::vector<Profile> select_profiles(Connection& connection, RowId variant, const std::string& device) {
  std::vector<Profile> profiles;
  Rows row = select(connection, kProfiles, {{"variant", variant}, {"device", device}});
  while (row.next()) {
    const std::string workload = row.text("workload");
    if (profiles.empty() || profiles.back().workload != workload) profiles.emplace_back();
    Profile& profile = profiles.back();
    profile.workload = workload;
    profile.method = "cupti";
    add_metric(profile, launch_of(profile, row.text("kernel")), row);
  }
  for (Profile& profile : profiles)
    for (LaunchProfile& launch : profile.launches) std::ranges::sort(launch.lines, {}, &LineSamples::line);
  return profiles;
}

}  // namespace ak::db

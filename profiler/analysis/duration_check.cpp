// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/duration_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace ak::profiler {
namespace {

// On an H200 durations were 0.98 to 1.05 of event times (ten kernels of 15 to 205 us): a profile runs at
// other clocks and leaves other lines in L2. Programmatic launches may also overlap. A call that is timed
// at less than three quarters of its launches was not all timed.
constexpr double kMinShareOfDurations = 0.75;

/// Over all launches; 0 where one has none.
double sum(const Profile& profile, const char* metric) {
  double total = 0;
  for (const LaunchProfile& launch : profile.launches) {
    const auto found = launch.metrics.find(metric);
    if (found == launch.metrics.end()) return 0;
    total += found->second;
  }
  return total;
}

/// What launches overlap, as a negative number. Time between two is no time of theirs: in a profile the host launches
/// one after the other, and a tracer makes each launch take tens of microseconds.
double overlaps(const Profile& profile) {
  double total = 0;
  for (const LaunchProfile& launch : profile.launches) {
    const auto gap = launch.metrics.find("timeline/gap");
    if (gap != launch.metrics.end()) total += std::min(gap->second, 0.0);
  }
  return total;
}

}  // namespace

std::optional<DurationCheck> check_duration(const Profile& profile, const Measurement& timed) {
  const double stamped_ns = sum(profile, "timeline/duration");
  DurationCheck cross_check{
      .event_ns = timed.median_ns,
      .cupti_ns = stamped_ns > 0 ? stamped_ns + overlaps(profile) : sum(profile, "time/duration")};
  if (cross_check.cupti_ns <= 0 || cross_check.event_ns <= 0) return std::nullopt;
  cross_check.agrees = cross_check.event_ns >= kMinShareOfDurations * cross_check.cupti_ns;
  return cross_check;
}

std::string duration_check_text(const std::string& workload, const DurationCheck& cross_check) {
  const std::string times = fmt::format("on {} CUPTI saw the call take {:.2f} us, events {:.2f} us", workload,
                                        cross_check.cupti_ns / 1e3, cross_check.event_ns / 1e3);
  return cross_check.agrees ? times : times + ": the event time cannot be right, do not trust it";
}

}  // namespace ak::profiler

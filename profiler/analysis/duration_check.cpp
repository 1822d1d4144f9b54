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

/// While at least one launch ran, by time stamps; 0 without them. Launches are in the order in which they began. Time
/// between two is none of theirs: in a profile the host launches one after the other, and is late.
double busy_ns(const Profile& profile) {
  double busy = 0, end = 0, latest = 0;  // of the launch before, of all before
  for (const LaunchProfile& launch : profile.launches) {
    const auto duration = launch.metrics.find("timeline/duration");
    if (duration == launch.metrics.end()) return 0;
    const auto gap = launch.metrics.find("timeline/gap");
    const double start = gap == launch.metrics.end() ? end : end + gap->second;
    end = start + duration->second;
    busy += std::max(0.0, end - std::max(start, latest));
    latest = std::max(latest, end);
  }
  return busy;
}

}  // namespace

std::optional<DurationCheck> check_duration(const Profile& profile, const Measurement& timed) {
  const double stamped_ns = busy_ns(profile);
  DurationCheck cross_check{.event_ns = timed.median_ns,
                            .cupti_ns = stamped_ns > 0 ? stamped_ns : sum(profile, "time/duration")};
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

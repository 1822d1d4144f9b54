// SPDX-License-Identifier: Apache-2.0
#include "profiler/duration_witness.h"

#include <fmt/format.h>

namespace ak::profiler {
namespace {

// On an H200 durations were 0.98 to 1.05 of event times (ten kernels of 15 to 205 us): a profile runs at
// other clocks and leaves other lines in L2. Programmatic launches may overlap besides. A call that is timed
// at less than three quarters of its launches was not all timed.
constexpr double kLeastShareOfDurations = 0.75;

}  // namespace

std::optional<DurationWitness> duration_witness(const Profile& profile, const Measurement& timed) {
  DurationWitness witness{.event_ns = timed.median_ns};
  for (const LaunchProfile& launch : profile.launches) {
    const auto duration = launch.metrics.find("time/duration");
    if (duration == launch.metrics.end()) return std::nullopt;
    witness.counted_ns += duration->second;
  }
  if (witness.counted_ns <= 0 || witness.event_ns <= 0) return std::nullopt;
  witness.agrees = witness.event_ns >= kLeastShareOfDurations * witness.counted_ns;
  return witness;
}

std::string witness_text(const std::string& workload, const DurationWitness& witness) {
  const std::string times =
      fmt::format("on {} counters give its launches {:.2f} us, events the call {:.2f} us", workload,
                  witness.counted_ns / 1e3, witness.event_ns / 1e3);
  return witness.agrees ? times : times + ": the event time cannot be right, do not trust it";
}

}  // namespace ak::profiler

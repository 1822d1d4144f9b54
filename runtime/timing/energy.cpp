// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/energy.h"

#include <algorithm>

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// The counter moves every 20 to 100 ms, so a second knows the energy to some percent; the power settles in
// the first of the rounds, which are not counted.
constexpr auto kShortest = std::chrono::seconds(1), kLongest = std::chrono::seconds(3);

/// Where the counter was seen to move.
struct Mark {
  steady_clock::time_point time;
  double joule;
  std::uint64_t calls;
};

// An event pair costs 2 us or so (docs/timing.md, tests/benchmarks/timing_statistics); the rest is for the
// noise of medians. Caches are no reason: they are as warm as they can be in the faster of the two times, or
// too small to matter.
constexpr double kEventPairNs = 3'000, kMinShare = 0.8;

Energy absent(std::string reason) {
  Energy energy;
  energy.unavailable_reason = std::move(reason);
  return energy;
}

Energy between(const Mark& from, const Mark& to) {
  const double seconds = std::chrono::duration<double>(to.time - from.time).count();
  const auto calls = static_cast<double>(to.calls - from.calls);
  return {.joule = (to.joule - from.joule) / calls,
          .power_w = (to.joule - from.joule) / seconds,
          .call_ns = seconds * 1e9 / calls,
          .calls = to.calls - from.calls,
          .unavailable_reason = {}};
}

}  // namespace

Result<Energy, Outcome> measure_energy(const NvmlProbe& nvml, const EnergyRound& round, const Clock& clock,
                                       std::optional<steady_clock::time_point> deadline) {
  Reading<double> joule = nvml.energy_j();
  if (!joule) return absent(joule.error().reason);
  const steady_clock::time_point begin = clock.now();
  if (deadline && begin + kLongest > *deadline) return absent("there was no time left before the deadline");
  std::optional<Mark> first;
  double last_joule = *joule;
  for (std::uint64_t calls = 0; clock.now() < begin + kLongest;) {
    const auto ran = round();
    if (!ran) return ran.error();
    calls += *ran;
    joule = nvml.energy_j();
    if (!joule) return absent(joule.error().reason);
    if (*joule == last_joule) continue;
    last_joule = *joule;
    const Mark mark{.time = clock.now(), .joule = *joule, .calls = calls};
    if (!first) first = mark;
    if (mark.time - first->time >= kShortest) return between(*first, mark);
  }
  return absent("the energy counter did not move as it should");
}

std::optional<std::string> implausible(const Energy& energy, const AloneTimes& alone) {
  const double alone_ns = std::min(alone.cold_ns, alone.warm_ns);
  const double min_ns = kMinShare * (alone_ns - kEventPairNs);
  if (!energy.unavailable_reason.empty() || energy.call_ns >= min_ns) return std::nullopt;
  return fmt::format(
      "calls back to back took {:.1f} us each, a call alone {:.1f} us, and at least {:.1f} us were expected: "
      "back to back they do less work",
      energy.call_ns / 1e3, alone_ns / 1e3, min_ns / 1e3);
}

}  // namespace ak::runtime

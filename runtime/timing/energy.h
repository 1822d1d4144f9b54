// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/evaluation.h"
#include "runtime/cuda/nvml_probe.h"

namespace ak::runtime {

/// Work that is done again and again while the counter is watched: some calls back to back. Waits for them and returns
/// how many they were.
using EnergyRound = std::function<Result<std::uint64_t, Outcome>()>;

/// Runs rounds for a second at least and divides what the counter moved by the calls. It begins and ends with
/// a round that saw the counter move, since the counter only does so now and then. What cannot be measured
/// is an Energy with the reason. Errors: what a round says.
/// @param deadline nothing is begun that might not end before it
[[nodiscard]] Result<Energy, Outcome> measure_energy(
    const NvmlProbe& nvml, const EnergyRound& round, const Clock& clock,
    std::optional<std::chrono::steady_clock::time_point> deadline);

/// Medians of a call between two events, with nothing right before it.
struct AloneTimes {
  double cold_ns = 0, warm_ns = 0;
};

/// Why the calls that an energy was measured over cannot have done the work of a call alone: they were faster than
/// warm caches and the missing events explain. Nothing when they can have, or when there is no energy.
[[nodiscard]] std::optional<std::string> implausible(const Energy& energy, const AloneTimes& alone);

}  // namespace ak::runtime

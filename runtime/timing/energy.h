// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "core/clock.h"
#include "core/evaluation.h"
#include "runtime/cuda/nvml_probe.h"

namespace ak::runtime {

/// Work that is done again and again while the counter is watched.
struct EnergyRound {
  std::function<std::optional<Outcome>()> run;  ///< some calls back to back, and waits for them
  std::uint64_t calls = 1;                      ///< how many
};

/// Runs rounds for a second at least and divides what the counter moved by the calls. It begins and ends with
/// a round that saw the counter move, since the counter only does so now and then. What cannot be measured
/// is an Energy with the reason. Errors: what a round says.
/// @param deadline nothing is begun that might not end before it
[[nodiscard]] Result<Energy, Outcome> measure_energy(
    const NvmlProbe& nvml, const EnergyRound& round, const Clock& clock,
    std::optional<std::chrono::steady_clock::time_point> deadline);

}  // namespace ak::runtime

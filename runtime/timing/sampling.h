// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/process/device_messages.h"

namespace ak::runtime {

enum class Sampling : std::uint8_t {
  go_on,
  converged,  ///< the median is known as well as asked for
  exhausted,  ///< the budget ended first
  permanent,  ///< clearly slower than the incumbent
};

/// Whether to take another sample (docs/timing.md). @param samples_ns in run order.
[[nodiscard]] Sampling decide(std::span<const double> samples_ns, const TimingBudget& budget,
                              std::optional<double> champion_score_ns);

}  // namespace ak::runtime

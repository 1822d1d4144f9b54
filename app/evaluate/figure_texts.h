// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/loop.h"

namespace ak::app {

/// "42.3 us", "1.25 ms": three significant digits in the unit a person would choose.
[[nodiscard]] std::string format_ns(double time_ns);

/// "45 s", "2m03s", "1h05m".
[[nodiscard]] std::string duration_text(double seconds);

/// "0.1234 US dollars", with "and tokens of unknown price", or "price unknown": never 0 for what is not known.
[[nodiscard]] std::string cost_text(double cost_usd, bool price_known);

/// "12 calls, 34000 tokens, 0.1234 US dollars"; a price that is not known is said to be that.
[[nodiscard]] std::string spending_text(const agent::Progress& progress);

/// "still to gain: 0.4 % expected, 0 to 1.2 % with 90 % confidence".
[[nodiscard]] std::string gain_text(const RemainingGain& gain);

}  // namespace ak::app

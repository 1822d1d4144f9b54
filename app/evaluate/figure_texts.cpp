// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/figure_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace ak::app {

std::string format_ns(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.3g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.4g} us", time_ns / 1e3);
  if (time_ns < 1e9) return fmt::format("{:.4g} ms", time_ns / 1e6);
  return fmt::format("{:.4g} s", time_ns / 1e9);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string cost_text(double cost_usd, bool price_known) {
  if (!price_known && cost_usd <= 0) return "price unknown";
  return fmt::format("{:.4g} US dollars{}", cost_usd, price_known ? "" : " and tokens of unknown price");
}

std::string spending_text(const agent::Progress& progress) {
  return fmt::format("{} calls, {} tokens, {}", progress.calls, progress.tokens,
                     cost_text(progress.cost_usd, progress.price_known));
}

std::string gain_text(const RemainingGain& gain) {
  return fmt::format("still to gain: {:.2g} % expected, {:.2g} to {:.2g} % with 90 % confidence",
                     100 * gain.expected, 100 * gain.low, 100 * gain.high);
}

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace ak::pages {

/// What a report covers: searches that began at `since` or later and before `until`, ISO 8601 UTC texts.
struct Period {
  std::string since, until;
  std::string title;  ///< "week 2026-W47 (2026-11-16 to 2026-11-22)"
};

/// An ISO 8601 week, "2026-W47": Monday to Sunday. Throws Error(usage).
[[nodiscard]] Period week_period(std::string_view week);

/// From `since` to before `until`: days ("2026-11-16") or times ("2026-11-16T22:00"); a day as `until` is
/// counted in. Either may be empty: from the beginning, until `now`. Throws Error(usage).
[[nodiscard]] Period date_period(std::string_view since, std::string_view until,
                                 std::chrono::system_clock::time_point now);

/// The seven days that end with the day of `now`.
[[nodiscard]] Period last_seven_days(std::chrono::system_clock::time_point now);

}  // namespace ak::pages

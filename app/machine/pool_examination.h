// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>

#include "core/text/json.h"

namespace ak::app {

/// What `doctor --pool` shows: every place of a pool file, and whether a search could use it. Starts workers, and waits
/// until all have answered, `patience` at most. {usable, places: [{place, usable, fault, notes, device, uuid,
/// cuda_of_driver, version, clock_skew_s, free_bytes, calibration: {compute_us, copy_us, memory_errors,
/// sm_clock_mhz}}]}; null: not known. Throws Error(bad_input) as read_pool() does.
[[nodiscard]] Json examine_pool(const std::filesystem::path& file, std::chrono::milliseconds patience);

}  // namespace ak::app

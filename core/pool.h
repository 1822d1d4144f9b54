// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/calibration.h"
#include "core/device/device_facts.h"

namespace ak {

/// A calibration of one device of a pool, and what it means for the device.
struct CalibrationRecord {
  std::string place;  ///< as the pool calls it: "cuda:1"
  std::shared_ptr<const DeviceFacts> device;
  Calibration calibration;
  double drift = 0;  ///< how far the time that differs most is from the device's first, as a share of it
  std::string objection = {};  ///< why the breaker opened; empty: it did not
};

enum class BreakerState : std::uint8_t { closed, open, half_open };
[[nodiscard]] constexpr std::string_view to_string(BreakerState state) {
  constexpr std::string_view kNames[] = {"closed", "open", "half-open"};
  return kNames[static_cast<std::size_t>(state)];
}

/// One place of a pool right now.
struct PoolPlace {
  std::string place;
  bool own = false;  ///< of this machine, and its worker this program's own
  /// That has joined, or is about to again. Null: none.
  std::shared_ptr<const DeviceFacts> device = nullptr;
  std::string_view
      doing;  ///< "evaluates", "measures baselines", "waits", "joins", "calibrates", "rests" or "left out"
  BreakerState breaker = BreakerState::closed;
  std::string reason = {};                           ///< why it rests or is left out; empty: it does not
  int sm_clock_mhz = 0;                              ///< at its last calibration; 0: not known
  int answers = 0;                                   ///< evaluations that it has answered
  std::chrono::steady_clock::duration present = {};  ///< time in all that it was there, or about to be again
};

/// What becomes of the devices that share a search's work.
struct PoolReport {
  std::vector<PoolPlace> places;
  std::vector<CalibrationRecord> calibrations;  ///< since the report before
};

}  // namespace ak

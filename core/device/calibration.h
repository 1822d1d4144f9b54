// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace ak {

/// What the fixed program of every calibration takes on a device (docs/fleet.md), and what the device says of itself.
struct Calibration {
  double compute_ns = 0, copy_ns = 0;  ///< medians; on the CPU device costs, which are exact
  std::optional<std::int64_t> memory_errors =
      {};                ///< uncorrected, since the driver was loaded; nothing: not known
  int sm_clock_mhz = 0;  ///< right after the program; 0: not known
};

}  // namespace ak

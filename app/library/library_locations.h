// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/text/locations.h"

namespace ak::library {

/// The program whose processes build and run kernels: `named`, else $ALPHAKERNEL_PROGRAM, else `alphakernel`
/// alongside this process's executable, else on PATH. Throws Error(environment) where there is none.
[[nodiscard]] std::filesystem::path find_program(const std::string& named);

/// Holds the locations of the process for as long as it lives. Several must agree. Threads may share it.
class LocationsHold {
 public:
  /// Throws Error(usage) when another one holds other locations.
  explicit LocationsHold(const Locations& wanted);
  ~LocationsHold();
  LocationsHold(const LocationsHold&) = delete;
  LocationsHold& operator=(const LocationsHold&) = delete;
};

}  // namespace ak::library

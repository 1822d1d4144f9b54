// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/device/floor.h"

namespace ak::app {

/// How long PyTorch is expected to take for what an algorithm does, where nobody has measured it: a fixed time and a
/// multiple of the floor.
struct PytorchEstimate {
  double fixed_us = 0;
  double memory = 1, compute = 1;  ///< times the floor, where memory and where operations are the limit
  std::string source;              ///< the record that the factors are of, or what they were counted from

  [[nodiscard]] double us(const Floor& floor) const {
    return fixed_us + (floor.computing ? compute : memory) * floor.time.value() / 1e3;
  }
};

/// That of pytorch_estimates.json for an algorithm, else the one for those that it does not name.
[[nodiscard]] const PytorchEstimate& pytorch_estimate_of(std::string_view algorithm);

}  // namespace ak::app

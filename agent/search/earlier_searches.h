// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/launch_plan.h"

namespace ak::agent {

/// What a search elsewhere found: of one shape, params and device.
struct EarlierSearch {
  std::string device, shape;  ///< as they are shown
  struct Answer {
    TunableValues point;            ///< of the same tunables, or of some of them
    std::optional<double> time_ns;  ///< absent: it failed
  };
  std::vector<Answer> answers;
};
/// What a search begins with; see SearchPrior.
using EarlierSearches = std::vector<EarlierSearch>;

}  // namespace ak::agent

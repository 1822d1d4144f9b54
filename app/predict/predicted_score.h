// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/prediction.h"

namespace ak::app {

/// The score of `times`, ends of intervals like times; nothing where there are none. @param weights one for each time
[[nodiscard]] std::optional<PredictedScore> predicted_score(std::string model,
                                                            std::vector<PredictedTime> times,
                                                            const std::vector<double>& weights);

}  // namespace ak::app

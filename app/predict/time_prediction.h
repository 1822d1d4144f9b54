// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/setup/config.h"
#include "core/predictor.h"

namespace ak::app {

/// Predicts times from launch plans alone, for points of files that were measured; null when the user has
/// chosen none for `arch` (shipped ones prune only where the configuration names them). Throws as chosen_models() does.
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(const Arch& arch, const DeviceFacts& device,
                                                        const Config& config);

}  // namespace ak::app

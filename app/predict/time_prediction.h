// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "app/setup/config.h"
#include "core/predictor.h"
#include "profiler/prediction/model_file.h"

namespace ak::app {

/// Where the model of a target is kept: prediction_<arch>.json in the folder of the user's database.
[[nodiscard]] std::filesystem::path model_file(const std::string& arch, const Config& config);

/// The model of `arch`; nothing when none was fitted. Throws Error(bad_input) when the file is broken.
[[nodiscard]] std::optional<profiler::FittedModels> load_models(const std::string& arch,
                                                                const Config& config);

/// Predicts times from launch plans alone, for points of files that were measured; null when there is no
/// model of `arch`. Throws as load_models does.
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(const Arch& arch, const DeviceFacts& device,
                                                        const Config& config);

}  // namespace ak::app

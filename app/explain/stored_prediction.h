// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "core/prediction.h"
#include "core/store.h"

namespace ak::app {

/// The times that were predicted for an evaluation; nothing where none were. Throws Error(database).
[[nodiscard]] std::optional<PredictedScore> stored_prediction(const std::filesystem::path& database,
                                                              RowId evaluation);

}  // namespace ak::app

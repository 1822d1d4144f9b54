// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "app/knowledge/evidence.h"
#include "app/llm/model_choice.h"

namespace ak::app {

/// What the database knows that may help a search with language models: of the same algorithm what was
/// learned for this target, then for others, then of other algorithms what models found out for this
/// target; and what was tried against a bottleneck. Reads the file now and whenever a bottleneck is asked
/// for. Throws Error(database).
[[nodiscard]] Memory recall(const std::filesystem::path& database, const db::InsightScope& scope);

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "db/store/insights.h"

namespace ak::app {

/// What the database knows, as Markdown: optimisation patterns and when to apply them, a guide for each
/// architecture with the best kernels known, decision trees for tunables, and what was tried without success. Every
/// claim names the variants it is based on (rows of `variants`). Throws Error(database).
/// @param filter of algorithm, arch and kind of device
[[nodiscard]] std::string knowledge_page(const std::filesystem::path& database,
                                         const db::InsightFilter& filter);

/// Insights as a list, one a line with its evidence.
[[nodiscard]] std::string insight_list(const std::vector<db::Insight>& insights);
[[nodiscard]] Json to_json(const std::vector<db::Insight>& insights);

}  // namespace ak::app

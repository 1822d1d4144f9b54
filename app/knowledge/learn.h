// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/knowledge/evidence.h"
#include "db/store/insights.h"

namespace ak::app {

/// What a tunable of a source does: pairs of points that differ in nothing else (docs/knowledge.md). Needs no
/// order; sources that are no template are named with the beginning of their hash.
[[nodiscard]] std::vector<db::Insight> learn_tunables(const db::InsightScope& scope,
                                                      std::span<const TimedVariant> variants);

/// Which template of the algorithm is fastest, over its definitions.
[[nodiscard]] std::vector<db::Insight> learn_templates(const db::InsightScope& scope,
                                                       std::span<const TimedVariant> variants);

/// What models tried and the result: each attempt, what adding or leaving out a feature did, and
/// how attempts failed.
[[nodiscard]] std::vector<db::Insight> learn_attempts(const db::InsightScope& scope,
                                                      std::span<const ModelAttempt> attempts);

/// Learns all of these for a scope from the whole database, and keeps them there. Returns how many there
/// are. Throws Error(database).
std::size_t learn(const std::filesystem::path& database, const db::InsightScope& scope);

}  // namespace ak::app

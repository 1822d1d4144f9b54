// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/explain/explanation.h"
#include "codegen/emit/explanation_parts.h"
#include "core/profile.h"
#include "db/read/lineage.h"

namespace ak::app {

/// What another value of one tunable makes of the time, by points of one source that differ in nothing else.
struct TunableEffect {
  std::string name;
  std::int64_t chosen = 0, other = 0;
  double ratio = 1;          ///< time with `other` over that with `chosen`: geometric mean over the pairs
  double low = 1, high = 1;  ///< its least and greatest of a pair
  int pairs = 0;
  std::optional<double> here;  ///< of the pair that the chosen point itself is in
  RowId variant = 0;           ///< of that pair, the other one; 0 without
};

/// For every tunable the other values that some pair has, in order. Pure.
[[nodiscard]] std::vector<TunableEffect> tunable_effects(const std::vector<db::MeasuredPoint>& points,
                                                         const TunableValues& chosen);

/// "UNROLL=4 instead of 1: 1.31x (12 points differing in nothing else, 1.10x to 1.44x; here 1.30x)".
[[nodiscard]] std::string effect_text(const TunableEffect& effect);

/// What was measured of the optimisations and tunables of a variant: by other points of its source, by
/// switches in its text that were tried off, and by the counters of their profiles.
/// @param judged its shapes: what exact counts say never happened there is no optimisation
/// @param parts `optimisations`, `tunables` and `launches` of it are filled in
void add_evidence(const std::filesystem::path& database, const StoredKernel& kernel,
                  const std::vector<JudgedWorkload>& judged, codegen::ExplanationParts& parts);

}  // namespace ak::app

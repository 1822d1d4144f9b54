// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/candidate.h"
#include "core/store.h"

namespace ak::db {

/// Times of a point of a source.
struct MeasuredPoint {
  RowId variant = 0;
  TunableValues tunables;
  double score_ns = 0;  ///< the least of its evaluations
};

/// The points of the source of `evaluation` that were timed for the same shapes, on the same product and for
/// the same target as it. Throws Error(database), as all here.
[[nodiscard]] std::vector<MeasuredPoint> measured_points(const std::filesystem::path& file, RowId evaluation);

/// A kernel made from `parent` with one thing switched off in its text.
struct SwitchedOff {
  RowId variant = 0;
  std::string name;  ///< says what was switched off
  std::optional<double> score_ns;
};
[[nodiscard]] std::vector<SwitchedOff> switched_off(const std::filesystem::path& file, RowId evaluation);

/// A variant and how it came to be.
struct LineageStep {
  RowId variant = 0;
  std::string name, definition, proposer, arm, status, message, device, arch;
  TunableValues tunables;
  std::vector<RowId> parents;
  std::optional<double> score_ns;  ///< its best, on the device of the evaluation asked about, else on any
  int iteration = 0, tried = 0;    ///< of search_leads(): since the lead before it
};

/// The variant of `evaluation` and all it was made from, the oldest first.
[[nodiscard]] std::vector<LineageStep> lineage(const std::filesystem::path& file, RowId evaluation);

/// What took the lead in the search of `evaluation` up to its variant, the first first.
[[nodiscard]] std::vector<LineageStep> search_leads(const std::filesystem::path& file, RowId evaluation);

/// Variants whose key begins with `prefix`; the first few.
[[nodiscard]] std::vector<RowId> variants_of_prefix(const std::filesystem::path& file,
                                                    const std::string& prefix);

}  // namespace ak::db

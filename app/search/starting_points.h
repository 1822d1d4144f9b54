// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/device/arch.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::app {

/// Tunables that a search must leave at one of the given values.
using FixedTunables = std::map<std::string, std::vector<std::int64_t>>;

/// What to search: `own` first, then the problem's templates; of these only `only` where it is named. With
/// `fixed`, points with other values are left out, by a constraint added to the plan. Throws Error(bad_input)
/// for a broken file, Error(usage) when a template or a tunable is not known, or no point is left.
[[nodiscard]] std::vector<Candidate> starting_points(const ProblemInstance& problem, const Arch& arch,
                                                     const std::vector<Candidate>& own,
                                                     const std::string& only, const FixedTunables& fixed);

/// The file that `tune` searches, alone. Throws Error(bad_input) where a constraint names what there is not,
/// and as starting_points().
[[nodiscard]] std::vector<Candidate> file_to_tune(Candidate candidate, const ProblemInstance& problem,
                                                  const Arch& arch, const FixedTunables& fixed);

/// "BM=64,128" added to `fixed`. Throws Error(usage).
void parse_fixed(const std::string& text, FixedTunables& fixed);

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/search/fixed_tunables.h"
#include "core/device/arch.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::app {

/// What to search: `own` first, then the problem's templates; of these only `only` where it is named. `fixed` as
/// keep_fixed() takes it. Throws Error(bad_input)
/// for a broken file, Error(usage) when a template, a tunable or a value is not known, or no point is left.
[[nodiscard]] std::vector<Candidate> starting_points(const ProblemInstance& problem, const Arch& arch,
                                                     const std::vector<Candidate>& own,
                                                     const std::string& only, const FixedTunables& fixed);

/// The file that `tune` searches, alone. Throws Error(bad_input) where a constraint names what there is not,
/// and as starting_points().
[[nodiscard]] std::vector<Candidate> file_to_tune(Candidate candidate, const ProblemInstance& problem,
                                                  const Arch& arch, const FixedTunables& fixed);

}  // namespace ak::app

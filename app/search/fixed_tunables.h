// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/device/arch.h"
#include "core/plan/candidate.h"

namespace ak::app {

/// Tunables that a search must leave at one of the given values.
using FixedTunables = std::map<std::string, std::vector<std::int64_t>>;

/// "BM=64,128" added to `fixed`. Throws Error(usage).
void parse_fixed(const std::string& text, FixedTunables& fixed);

/// Leaves the points with these values alone, by a constraint added to each plan. Candidates without such a point, or
/// whose space is refused and whose own point is not such a one, are left out, except for the first `own`, which keep
/// the point that they are written with; a note on stderr names them.
/// Throws Error(usage) where no candidate has a tunable, or a value, of that name, or none has such a point.
void keep_fixed(std::vector<Candidate>& candidates, std::size_t own, const FixedTunables& fixed,
                const Environment& environment, const Arch& arch);

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/candidate.h"

namespace ak::agent {

/// How a candidate goes about it, by what its source names: "wgmma, TMA, shared memory; 2 launches".
/// Candidates of the same approach differ in numbers and details; archives keep few of each.
[[nodiscard]] std::string approach_of(const Candidate& candidate);

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/candidate.h"

namespace ak::agent {

/// What a source names of how CUDA kernels compute, move data and let their threads talk: "wgmma", "TMA",
/// "shared memory", ... The names stay valid.
[[nodiscard]] std::vector<std::string_view> features_of(std::string_view source);

/// How a candidate goes about it, by what its source names: "wgmma, TMA, shared memory; 2 launches".
/// Candidates of the same approach differ in numbers and details; archives keep few of each.
[[nodiscard]] std::string approach_of(const Candidate& candidate);

}  // namespace ak::agent

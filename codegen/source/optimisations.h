// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/candidate.h"

namespace ak::codegen {

/// A way to make a kernel fast that a candidate's file shows.
struct Optimisation {
  std::string_view name;              ///< "vector loads"
  std::string_view purpose;           ///< what it is for, in a few words
  std::vector<int> lines;             ///< of the file, from 1, where it is; its launch plan is part of it
  std::vector<std::string> tunables;  ///< of the plan, that govern it
  std::vector<std::string_view> counters;  ///< metrics that show it at work
};

/// Those of a table that the file shows, by names of instructions, intrinsics and of CUDA C++ in its code and
/// by what its launch plan asks for. Comments do not count.
[[nodiscard]] std::vector<Optimisation> optimisations_of(const Candidate& candidate);

/// A macro of the file that switches something: defined there as 1, and asked for by an #if.
[[nodiscard]] std::vector<std::string> switches_of(const Candidate& candidate);
/// The file with that macro defined as 0.
[[nodiscard]] std::string switched_off(const std::string& source, const std::string& macro);

}  // namespace ak::codegen

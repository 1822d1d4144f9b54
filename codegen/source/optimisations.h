// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/candidate.h"

namespace ak::codegen {

/// A way to make a kernel fast that a candidate's file shows.
struct Optimisation {
  std::string_view name;     ///< "vector loads"
  std::string_view purpose;  ///< what it is for, in a few words
  std::vector<int> lines;    ///< of the file, from 1, where it is; its launch plan and the includes of device
                             ///< headers are part of it
  std::vector<std::string> tunables;       ///< of the plan, that govern it
  std::vector<std::string_view> counters;  ///< metrics that show it at work
  std::string_view
      never;  ///< exact counts of the CPU device of which none begins so where it never happens; or empty
};

/// Those of a table that the candidate shows at its point: by names of instructions, intrinsics and of CUDA C++ in code
/// that its launches may come to, that of device headers too, by numbers that tunables and constants have, and by what
/// its launch plan asks for. Comments and code that nothing uses do not count.
/// @param plans for the shapes that are spoken of; with none, all launches of the plan count
/// @param kernel speaks of launches of this one alone; empty: of all
[[nodiscard]] std::vector<Optimisation> optimisations_of(const Candidate& candidate,
                                                         const std::vector<ResolvedPlan>& plans = {},
                                                         const std::string& kernel = "");

/// A macro of the file that switches something: defined there as 1, and asked for by an #if.
[[nodiscard]] std::vector<std::string> switches_of(const Candidate& candidate);
/// The file with that macro defined as 0.
[[nodiscard]] std::string switched_off(const std::string& source, const std::string& macro);

}  // namespace ak::codegen

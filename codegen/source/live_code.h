// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/plan/candidate.h"

namespace ak::codegen {

/// A line of code that launches may come to.
struct LiveLine {
  std::string text;  ///< without comments
  int line =
      0;  ///< of the candidate's file, from 1: its own, or that of the include of its device header; 0: none
  bool header = false;  ///< of a device header
};

/// The lines that these kernels may come to, in the file and in its device headers: what they mention, what that mentions
/// and so on, without what conditions of the preprocessor leave out whose value is known. Rather too much than too little.
/// Blank lines are left out. @param kernels as launches name them
[[nodiscard]] std::vector<LiveLine> live_code(const Candidate& candidate,
                                              const std::set<std::string>& kernels);

}  // namespace ak::codegen

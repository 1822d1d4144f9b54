// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::codegen {

/// The code of a set's members in one file: each in a namespace of its own, with its tunables as constants, so that
/// members may be points of one template, and names may be the same in several.
struct MemberText {
  std::string space;    ///< "member_1"
  std::string heading;  ///< a comment, a line each
  TunableValues tunables;
  std::string code;  ///< its file without launch plan and without defaults of constants
};
[[nodiscard]] MemberText member_text(const ProblemInstance& problem, const Candidate& candidate,
                                     std::string space, std::string heading);

/// Includes of all members, then each member. What follows a launch plan in the file of a set.
[[nodiscard]] std::string members_source(const std::vector<MemberText>& members);

/// The name of a kernel of a member: `tile<float, BM>` becomes `member_1::tile<float, 128>`.
[[nodiscard]] std::string kernel_in_space(const std::string& kernel, const MemberText& member);

}  // namespace ak::codegen

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/result.h"
#include "core/sets/set_rule.h"

namespace ak::codegen {

struct SetMember {
  Candidate candidate;  ///< at its point
  /// False: of some shapes none of its launches happens, or a grid has no room.
  bool takes_every_shape = true;
};

/// Tuned points, also of several templates, and the rule that picks one from the shape.
struct KernelSet {
  std::string name;  ///< of the candidate: "gemm_bf16.set.cu"
  std::vector<SetMember> members;
  SetRule rule;
};

/// The set as one candidate: its file has the code of every member in a namespace of its own, and its launch plan the
/// launches of all, each where the rule chooses its member. A set of one is its member, unchanged. So whatever takes
/// candidates takes sets. Errors: members with different compiler options, a plan or a file that would be too large.
[[nodiscard]] Result<Candidate> set_candidate(const ProblemInstance& problem, const KernelSet& set);

/// The member that a set made by set_candidate launches, counted from 0: what its launch plan says, and so what every
/// export of it does. Nothing where the plan has no value for the shape.
/// @param environment of the shape and the device
[[nodiscard]] std::optional<std::size_t> chosen_member(const Candidate& set, Environment environment);

/// The member, counted from 0, whose code a message about the set names first, as in "member_2::tile: ...", or else by a line
/// of the set's file, as in "gemm.set.cu:450:7: race: ..."; nothing where it names none of so many.
[[nodiscard]] std::optional<std::size_t> member_named_in(const Candidate& set, std::string_view message,
                                                         std::size_t members);

/// What prepared weights look like: candidates with the same text read one copy. Empty where it prepares none.
[[nodiscard]] std::string prepared_layout(const ProblemInstance& problem, const Candidate& candidate);

/// The rule in lines: "M == 64 -> member 2" of rows, then "least of 4.69 us + 553 ns * WAVES -> member 2: gemm_wgmma.cu
/// BM=64" of every member.
[[nodiscard]] std::vector<std::string> rule_lines(const KernelSet& set);

/// The shapes of a member in words: "M == 64, and where least: 4.69 us + 553 ns * WAVES"; of a set of one "every shape".
[[nodiscard]] std::string shapes_of_member(const KernelSet& set, std::size_t member);

/// "gemm_wgmma.cu BM=64 BN=256"
[[nodiscard]] std::string point_text(const Candidate& candidate);

}  // namespace ak::codegen

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "codegen/sets/member_source.h"
#include "core/plan/candidate.h"
#include "core/plan/expression_names.h"
#include "core/plan/problem.h"
#include "core/sets/time_estimate.h"

namespace ak::codegen {

/// The name by which a set's launch plan says which member takes a shape, counted from 1.
inline constexpr const char* kMemberName = "MEMBER";

/// What a member brings into the launch plan of its set: its own plan with its tunables as numbers and its names made
/// unique, asked for only where MEMBER is this one. Throws JsonInputError where an expression would be too long.
class MemberPlan {
 public:
  /// @param takes_every_shape false: that one of its launches happens, and its grid has room, is a condition of being asked
  MemberPlan(const ProblemInstance& problem, const Candidate& member, const MemberText& text,
             std::size_t number, bool takes_every_shape);

  /// Which shapes it takes, over axes and facts of the device; empty where it takes all.
  [[nodiscard]] const std::string& takes() const { return takes_; }
  /// What an estimate of its time in whole picoseconds is a sum of, over axes and facts of the device. Throws
  /// JsonInputError.
  [[nodiscard]] std::vector<std::string> time(const TimeEstimate& estimate) const;
  [[nodiscard]] bool prepares() const { return !plan_.prepare.empty(); }
  /// What prepared weights look like: members with the same text may read one copy.
  [[nodiscard]] std::string layout() const;

  /// @param fallback no other member takes what it refuses: then the set refuses it
  void add_constraints(LaunchPlan& set, bool fallback) const;
  void add_names(LaunchPlan& set) const;
  /// @param owner whose prepared workspaces this one reads; itself, where it brings its own
  void add_launches(LaunchPlan& set, const MemberPlan& owner) const;
  void add_preparation(LaunchPlan& set) const;

 private:
  void read_names();
  void read_conditions(bool takes_every_shape);
  void add_grid_limits(std::vector<std::string>& conditions) const;
  [[nodiscard]] bool asks_for_sizes(const Expression& inlined) const;
  [[nodiscard]] std::string inlined(const Expression& expression) const;
  [[nodiscard]] std::string named(const Expression& expression) const;
  [[nodiscard]] std::string own_name(const std::string& name) const;
  [[nodiscard]] std::string if_chosen(const std::string& text) const;
  [[nodiscard]] std::vector<Expression> renamed(const std::vector<Expression>& list,
                                                const NameTexts& texts) const;
  [[nodiscard]] LaunchPlanEntry renamed(const LaunchPlanEntry& launch, const NameTexts& texts) const;
  [[nodiscard]] TensorMapPlan renamed(TensorMapPlan map, const NameTexts& texts) const;
  /// With the kernel and pointers by the names that the set has for them.
  [[nodiscard]] LaunchPlanEntry placed(LaunchPlanEntry launch, const MemberPlan& owner) const;
  /// A launch of `prepare` with every name of the plan as what it stands for: asked before a member is chosen.
  [[nodiscard]] LaunchPlanEntry preparation(const LaunchPlanEntry& launch) const;
  [[nodiscard]] std::string pointer(const std::string& name, const MemberPlan& owner) const;

  const ProblemInstance& problem_;
  const MemberText& text_;
  LaunchPlan plan_;
  std::size_t number_;
  Environment known_;  ///< params, fixed axes, tunables, and names that follow from them
  NameTexts named_;    ///< own names as the set's plan has them
  NameTexts inlined_;  ///< own names as what they stand for, for what is asked before a member is chosen
  std::vector<Expression> device_constraints_;
  std::string takes_;
};

}  // namespace ak::codegen

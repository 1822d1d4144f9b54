// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/problem.h"
#include "core/sets/set_choice.h"
#include "core/store.h"

namespace ak {

struct SetMemberRecord {
  RowId variant = 0;
  std::string condition;  ///< its shapes: "M <= 64"; of the fallback "every other shape"
  bool fallback = false;
};

/// A shape that a set was learned from, or was measured on later.
struct SetShapeRecord {
  Workload workload;
  bool held_out = false;
  std::size_t member = 1;  ///< that the rule chooses, from 1
  double member_ns = 0;
  double best_ns = 0;  ///< of the best known there; of a held-out shape of the best member
  std::optional<RowId> best_variant;
};

/// What is kept of a kernel set beside the variant that it is.
struct SetRecord {
  RowId variant = 0;  ///< the set itself; of one member the member
  std::vector<SetMemberRecord> members;
  std::vector<SetShapeRecord> shapes;
  double mean_ratio = 1, worst_ratio = 1;  ///< on the timed shapes, over the best known on each
  bool within_limits = true;
  std::size_t prepared_copies = 0;  ///< of the weights
  std::optional<SetRegret> regret;  ///< on held-out shapes; nothing: none was measured
};

}  // namespace ak

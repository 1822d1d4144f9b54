// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "core/store.h"

namespace ak::db {

/// What a later check in the same search said of a variant.
struct LaterCheck {
  std::string arm;  ///< "held_out" or "examination"
  std::string status, message, device;
};

/// What is known of a variant by the evaluation that says most of it: timed before checked, on a GPU before
/// the CPU device, measured again before measured in a search. Where it was found wrong later, that.
struct EvaluatedVariant {
  RowId variant = 0, evaluation = 0, search = 0;
  std::string arm;  ///< of its proposal
  Arch arch;
  DeviceFacts device;
  std::vector<Workload> workloads;  ///< every shape that `result` mentions
  EvaluationResult result;  ///< with the search's baselines, exact counts, and profiles of the same device
  std::vector<LaterCheck> later;
  std::string command, proposer, strategy, reason, version;  ///< of the search
  int evaluations = 0, verified = 0;                         ///< of the search
  bool chosen = false;                                       ///< a search ended with it
  double wall_s = 0;                                         ///< of the search; 0: it has not ended
};

/// Nothing when the variant was never evaluated. Throws Error(database).
/// @param device name of the product to describe; empty: any
[[nodiscard]] std::optional<EvaluatedVariant> find_evaluation(const std::filesystem::path& file,
                                                              RowId variant, const std::string& device = "");

}  // namespace ak::db

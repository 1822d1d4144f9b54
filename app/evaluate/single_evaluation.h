// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/evaluation.h"
#include "core/store.h"

namespace ak::app {

/// One kernel to be evaluated by itself.
struct SingleOrder {
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  Depth depth = Depth::time;  ///< at most; on a device that executes nothing it is Depth::build
  std::string command;        ///< stored with the search
  bool audited = false;
};

struct SingleEvaluation {
  EvaluationResult result;
  RowId search = 0;
  StoredEvaluation stored;

  /// It went as far as it was to go without a fault.
  [[nodiscard]] bool passed() const;
};

/// Builds, checks and times it, and commits it to `database` as its own search. Blocks. Throws Error as
/// the evaluator and the store do.
[[nodiscard]] SingleEvaluation evaluate_once(const SingleOrder& order, const Target& target,
                                             const Config& config, const std::filesystem::path& database);

}  // namespace ak::app

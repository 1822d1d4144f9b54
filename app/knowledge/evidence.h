// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/launch_plan.h"
#include "db/store/insights.h"

namespace ak::app {

/// A variant that was timed, by its best score.
struct TimedVariant {
  RowId variant = 0;
  std::string definition;  ///< name, with the hash of the shapes: scores of the same are comparable
  std::string source;      ///< its hash
  std::string name;        ///< of the candidate: "softmax/softmax.cu", "llm_3.cu"
  TunableValues tunables;
  Json params;  ///< of the definition: {"dtype": "bfloat16"}
  double score_ns = 0;
};

/// A candidate that a model wrote, and the result.
struct ModelAttempt {
  RowId variant = 0;
  std::string name, arm, model;
  std::string claim;   ///< the model's words before the code, in at most 400 bytes; untrusted
  std::string source;  ///< text
  std::string status, message;
  std::string bottleneck;  ///< of the parent; empty where not known
  std::optional<double> score_ns;
  RowId parent = 0;           ///< 0: it had none
  std::string parent_source;  ///< text
  std::optional<double> parent_score_ns;
  std::optional<Hypothesis> hypothesis =
      {};  ///< what was expected of it, of its parent at that time; untrusted
  std::optional<double> measured_speedup = {};
};

/// Every scope that has evaluations with a score or answers of models. Throws Error(database), as
/// do the others.
[[nodiscard]] std::vector<db::InsightScope> scopes_of(const std::filesystem::path& database);

/// Variants of the scope that passed every check, the latest 20,000. Those found wrong later are
/// not among them.
[[nodiscard]] std::vector<TimedVariant> timed_variants(const std::filesystem::path& database,
                                                       const db::InsightScope& scope);

/// In the order of their evaluation. A variant that was proposed several times is there once for each hypothesis, and
/// once for all its proposals without one.
[[nodiscard]] std::vector<ModelAttempt> model_attempts(const std::filesystem::path& database,
                                                       const db::InsightScope& scope);

}  // namespace ak::app

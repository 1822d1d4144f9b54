// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/emit/emit.h"
#include "core/text/json.h"
#include "db/read/evaluated_variant.h"
#include "profiler/analysis/profile_json.h"

namespace ak::app {

/// A variant with everything that the database has of it.
struct StoredKernel {
  std::shared_ptr<const ProblemInstance> problem;  ///< with the shapes that it was evaluated on
  Candidate candidate;
  db::EvaluatedVariant stored;
};

/// Of a variant that was evaluated. Throws Error(usage) when it never was.
/// @param problem of the variant's family and params; the evaluation's shapes take the place of its own where
/// it has not all of them
/// @param device name of the product to describe; empty: any
[[nodiscard]] StoredKernel stored_kernel(const std::filesystem::path& database, RowId variant,
                                         const Candidate& candidate, const ProblemInstance& problem,
                                         const std::string& device = "");

/// The launches of a kernel on one shape as they were judged: by a stored profile, else by the CPU device's
/// exact counts, else by what the compiler reported.
struct JudgedWorkload {
  std::string workload;
  ResolvedPlan plan;
  Profile profile;
  std::vector<profiler::ProfiledLaunch> launches;
};
/// Of every timed shape, or of the first one where nothing was timed; nothing for a kernel that failed.
[[nodiscard]] std::vector<JudgedWorkload> judged_workloads(const StoredKernel& kernel);

/// What the sections say of it: approach, optimisations, evidence, limits, log.
[[nodiscard]] codegen::ExplanationParts explanation_parts(const std::filesystem::path& database,
                                                          const StoredKernel& kernel);

/// What emit_explanation() takes in addition to the kernel, from the database alone.
[[nodiscard]] codegen::RunSummary stored_summary(const std::filesystem::path& database,
                                                 const StoredKernel& kernel);

/// The explanation as data.
[[nodiscard]] Json explanation_json(const StoredKernel& kernel, const codegen::RunSummary& summary);

}  // namespace ak::app

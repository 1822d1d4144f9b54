// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/audit.h"
#include "core/plan/problem.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::app {

/// What an audit's verdict holds for: SHA-256 of problem.json, workloads.jsonl and reference.cu of a folder
/// or of its Python files, and of the audit's own rules.
[[nodiscard]] std::string audited_content(const std::filesystem::path& folder);

/// The folder's audit.json says that it passed as it is now, under as many params as codegen::covering_params gives
/// where it says how many.
[[nodiscard]] bool has_audit_record(const std::filesystem::path& folder);
/// Writes audit.json. Throws Error(output), Error(usage) for a problem that is compiled in.
/// @param formulas they were compared, and hold
void write_audit_record(const std::filesystem::path& folder, bool formulas);

struct AuditOptions {
  std::vector<std::string> workloads;  ///< names; empty: those of tier emulator
  std::uint64_t seed = 1;
  bool every_comparison = false;          ///< of runtime::AuditRequest
  runtime::OnEvaluatorWait on_wait = {};  ///< of EvaluatorOptions
};
/// Audits on target's device; on the CPU device formulas, too (formula_audit.h). Nothing is stored. Blocks. Throws Error
/// as runtime::audit_problem does.
[[nodiscard]] ProblemAudit audit_on(const std::shared_ptr<const ProblemInstance>& problem,
                                    const Target& target, const Config& config, const AuditOptions& options);
/// The same, and stores the result in `database`.
[[nodiscard]] ProblemAudit audit_and_store(const std::shared_ptr<const ProblemInstance>& problem,
                                           const Target& target, const Config& config,
                                           const std::filesystem::path& database,
                                           const AuditOptions& options = {});

/// Names of the mutations that got through, and what they do; or why the twin did not.
[[nodiscard]] std::string audit_error(const ProblemAudit& audit);

/// A problem is used only when its checks are known to notice mistakes, and when a person knows what it computes
/// (require_confirmed()). True where audit.json or `database`
/// says so, else after an audit on the CPU device, which a note on stderr announces; false, with nothing
/// done, where the user said --unaudited. Notes say that a problem is degenerate, or its formulas are off. Throws Error(audit) naming the mutations when it fails.
/// @param on_wait of EvaluatorOptions, while it is audited
bool require_audit(const ProblemInstance& problem, bool unaudited, const Config& config,
                   const std::filesystem::path& database, const runtime::OnEvaluatorWait& on_wait = {});

}  // namespace ak::app

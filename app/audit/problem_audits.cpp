// SPDX-License-Identifier: Apache-2.0
#include "app/audit/problem_audits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "app/audit/formula_audit.h"
#include "app/problem/draft_mark.h"
#include "app/setup/assembler.h"
#include "codegen/problem/problem_catalog.h"
#include "codegen/problem/problem_files.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "db/database.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/problem_audit.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// Raised when mutations or comparisons change, so that every verdict is asked for again.
constexpr int kRules = 2;
constexpr const char* kRecord = "audit.json";

std::vector<std::string> workload_names(const ProblemInstance& problem, const AuditOptions& options) {
  std::vector<std::string> names;
  for (const Workload* one : runtime::select_workloads(problem, options.workloads, DeviceKind::emulator))
    names.push_back(one->name);
  return names;
}

/// From the folder, where the definition has the tag: instances do not keep the evidence.
std::string evidence_of_degeneracy(const ProblemInstance& problem) {
  const auto& tags = problem.definition.tags;
  if (std::ranges::find(tags, codegen::kDegenerateTag) == tags.end()) return "";
  return codegen::degenerate_evidence(codegen::load_problem(problem.folder));
}

/// The problem with its own workloads, whatever shape the user asked for.
std::shared_ptr<const ProblemInstance> as_shipped(const ProblemInstance& problem) {
  return codegen::instantiate(codegen::load_problem(problem.folder), problem.params);
}

/// Endings of what a reference in Python may use: texts, and tensors.
constexpr std::array kReferenceEndings{".py", ".yml", ".pt", ".pth", ".npy", ".npz"};

/// Of a folder, those of packages too. Sorted.
std::vector<std::string> reference_modules(const fs::path& folder) {
  if (is_compiled_in(folder)) return {"reference.py"};
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (entry.is_regular_file() && std::ranges::find(kReferenceEndings, ending) != kReferenceEndings.end())
      files.push_back(fs::relative(entry.path(), folder).generic_string());
  }
  std::ranges::sort(files);
  return files;
}

std::size_t choices_of_params(const fs::path& folder) {
  return codegen::covering_params(codegen::load_problem(folder)).size();
}

/// Where they cannot be compared that is a finding: what the checks do is known, and is not to be lost.
std::vector<AuditFinding> formulas_of(const ProblemInstance& problem, const Target& target,
                                      const Config& config, const AuditOptions& options) {
  try {
    return audit_formulas(problem, target, config, options.workloads, options.seed);
  } catch (const Error& error) {
    return {{.kind = AuditKind::formula,
             .name = "flops",
             .what = "is compared with what the reference does",
             .tensor = {},
             .evidence = {},
             .message = error.what()}};
  }
}

}  // namespace

std::string audited_content(const fs::path& folder) {
  std::string parts = fmt::format("{}\n", kRules);
  std::vector<std::string> files{"problem.json", "workloads.jsonl"};
  if (codegen::has_problem_file(folder, "reference.cu")) {
    files.emplace_back("reference.cu");
  } else {  // a reference in Python may import its neighbours
    for (const std::string& file : reference_modules(folder)) files.push_back(file);
  }
  for (const std::string& file : files) parts += sha256_hex(codegen::read_problem_file(folder, file)) + "\n";
  return sha256_hex(parts);
}

bool has_audit_record(const fs::path& folder) {
  if (!codegen::has_problem_file(folder, kRecord)) return false;
  const Json record = try_parse_json(codegen::read_problem_file(folder, kRecord));
  if (!record.is_object() || record.value("passed", Json()) != Json(audited_content(folder))) return false;
  // Without it: of dtypes and booleans alone.
  return !record.contains("params") || record["params"] == Json(choices_of_params(folder));
}

void write_audit_record(const fs::path& folder, bool formulas) {
  if (is_compiled_in(folder))
    fail(ExitCode::usage, "{} is compiled in: name a folder with its problem in ALPHAKERNEL_TEMPLATES",
         folder.string());
  Json record{{"params", choices_of_params(folder)}, {"passed", audited_content(folder)}};
  if (formulas) record["formulas"] = true;
  write_file_atomically(folder / kRecord, record.dump() + "\n");
}

ProblemAudit audit_on(const std::shared_ptr<const ProblemInstance>& problem, const Target& target,
                      const Config& config, const AuditOptions& options) {
  runtime::EvaluatorOptions evaluator = evaluator_options(target, config);
  evaluator.on_wait = options.on_wait;
  ProblemAudit audit = runtime::audit_problem(evaluator, source_assembler(), target.device.value(),
                                              {.problem = problem,
                                               .workloads = workload_names(*problem, options),
                                               .seed = options.seed,
                                               .every_comparison = options.every_comparison});
  if (audit.passed() && target.kind == DeviceKind::emulator)
    std::ranges::move(formulas_of(*problem, target, config, options), std::back_inserter(audit.findings));
  return audit;
}

ProblemAudit audit_and_store(const std::shared_ptr<const ProblemInstance>& problem, const Target& target,
                             const Config& config, const fs::path& database, const AuditOptions& options) {
  ProblemAudit audit = audit_on(problem, target, config, options);
  db::open_audit_store(database)->commit_audit({.problem = problem.get(),
                                                .content_hash = audited_content(problem->folder),
                                                .version = AK_VERSION,
                                                .audit = &audit},
                                               *target.device, target.arch);
  return audit;
}

std::string audit_error(const ProblemAudit& audit) {
  std::vector<std::string> parts;
  for (const AuditFinding& finding : audit.findings) {
    if (finding.as_expected() || finding.kind == AuditKind::formula) continue;
    if (finding.kind == AuditKind::honest) {
      parts.push_back(fmt::format("its checks reject its own twin: {}", finding.message));
      continue;
    }
    parts.push_back(fmt::format("its checks accept the mutation '{}'{} ({})", finding.name,
                                finding.tensor.empty() ? "" : fmt::format(" of '{}'", finding.tensor),
                                finding.what));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool require_audit(const ProblemInstance& problem, bool unaudited, const Config& config,
                   const fs::path& database, const runtime::OnEvaluatorWait& on_wait) {
  require_confirmed(problem.folder);
  const std::string degenerate = evidence_of_degeneracy(problem);
  if (!degenerate.empty())
    print_stderr("note: {} is degenerate: its kernels are not ranked and in no mean. {}\n",
                 problem.definition.name, degenerate);
  if (unaudited) return false;
  if (has_audit_record(problem.folder)) return true;
  const std::string content = audited_content(problem.folder);
  if (db::open_audit_store(database)->audit_passed(content, problem)) return true;
  print_stderr("note: auditing {} on the CPU, once for each change of the problem\n",
               problem.definition.name);
  const ProblemAudit audit = audit_and_store(as_shipped(problem), choose_target("emulator", ""), config,
                                             database, {.workloads = {}, .on_wait = on_wait});
  for (const AuditFinding& finding : audit.findings)
    if (finding.kind == AuditKind::formula && !finding.as_expected())
      print_stderr("note: the formula \"{}\" of {}, by which floors and rates go, is off: {}\n", finding.name,
                   problem.definition.name, finding.message);
  if (audit.passed()) return true;
  fail(ExitCode::audit,
       "{} failed its audit and cannot be used: {}. {} {} (docs/checking.md, Audit), "
       "or continue anyway with --unaudited",
       problem.definition.name, audit_error(audit), degenerate.empty() ? "Correct" : "It is degenerate; see",
       (problem.folder / "problem.json").string());
}

}  // namespace ak::app

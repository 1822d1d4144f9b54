// SPDX-License-Identifier: Apache-2.0
#include "tools/algorithms_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/audit/formula_audit.h"
#include "app/audit/problem_audits.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "tools/command_line.h"
#include "tools/number_options.h"

namespace ak::tools {
namespace {

struct AuditFlags {
  std::string name, arch, device, database;
  app::AuditOptions options;
  bool json = false, record = false, formulas = false;
};

/// One problem under one choice of params, audited.
struct Audited {
  std::shared_ptr<const ProblemInstance> problem;
  ProblemAudit audit;
};

constexpr const char* kAuditExamples =
    "Examples:\n"
    "  alphakernel algorithms audit softmax\n"
    "  alphakernel algorithms audit gemm --dtype int8 --device emulator\n"
    "  alphakernel algorithms audit --problem my_problem/ --json\n"
    "  alphakernel algorithms audit linear --formulas      # seconds: no mutation is tried\n\n"
    "Exits with 9 when a mutation passes or the twin does not; with --formulas when a formula is off.\n"
    "See docs/checking.md, Audit.\n";

void add_audit_flags(CLI::App& app, AuditFlags& flags) {
  app.add_option("name", flags.name, "algorithm to audit (default: all)");
  app.add_option("--arch,--target", flags.arch, "what to compile for (default: native)");
  app.add_option("--device", flags.device, "where to run: auto, cuda, cuda:N, emulator");
  app.add_option("--workload", flags.options.workloads,
                 "workload to check with; may be repeated (default: the small ones)");
  add_integer(app, "--seed", {.min = 1, .max = INT64_MAX}, into(flags.options.seed),
              "seed of the inputs (default: 1)");
  app.add_option("--db", flags.database, "performance database, where the result is kept");
  app.add_flag("--record", flags.record,
               "note in the problem's audit.json that it passed; only with all choices of its params")
      ->group("Main");  // where others have it, it records a model
  app.add_flag("--formulas", flags.formulas,
               "compare the formulas with the reference's work, and try no mutation");
  app.add_flag("--every-comparison", flags.options.every_comparison,
               "try a declared mutation on every workload and distribution: how firmly it is rejected");
  app.add_flag("--json", flags.json, "print JSON");
}

/// The name among the arguments, at any position; "" for none.
std::string positional(const app::Arguments& arguments) {
  CLI::App app;
  AuditFlags flags;
  add_audit_flags(app, flags);
  app.set_help_flag();
  app.allow_extras();
  app::Arguments reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError&) {
    return "";  // reported when the whole line is parsed
  }
  return flags.name;
}

Json finding_json(const AuditFinding& finding) {
  Json json{{"kind", to_string(finding.kind)},
            {"mutation", finding.name},
            {"what", finding.what},
            {"tensor", finding.tensor},
            {"verdict", to_string(finding.verdict)},
            {"as_expected", finding.as_expected()},
            {"checks", finding.checks},
            {"rejections", finding.rejections},
            {"message", finding.message},
            {"evidence", nullptr}};
  if (const auto& check = finding.evidence) {
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    json["evidence"] = {{"workload", check->workload},
                        {"distribution", check->distribution},
                        {"seed", check->seed},
                        {"tensor", check->tensor},
                        {"passed", check->passed},
                        {"max_error", number(check->max_error)},
                        {"mean_error", number(check->mean_error)},
                        {"tolerance", number(check->tolerance)},
                        {"error_ratio", number(error_ratio(*check))}};
  }
  return json;
}

/// @param formulas they were compared alone: nothing is known of the checks
Json audit_json(const Audited& one, bool formulas) {
  Json params = Json::object(), findings = Json::array();
  for (const auto& [name, value] : one.problem->params) params[name] = to_string(value);
  for (const AuditFinding& finding : one.audit.findings) findings.push_back(finding_json(finding));
  return {{"problem", one.problem->problem},
          {"definition", one.problem->definition.name},
          {"params", params},
          {"content_hash", app::audited_content(one.problem->folder)},
          {"recorded", app::has_audit_record(one.problem->folder)},
          {"passed", formulas ? Json() : Json(one.audit.passed())},
          {"formulas_hold", one.audit.formulas_hold()},
          {"findings", findings}};
}

std::string evidence_text(const AuditFinding& finding) {
  const bool explained = finding.verdict == AuditVerdict::exempt ||
                         finding.verdict == AuditVerdict::accepted || finding.kind == AuditKind::formula;
  if (explained && !finding.message.empty()) return finding.message;
  if (!finding.evidence) return finding.message.substr(0, finding.message.find('\n'));
  const CheckRecord& check = *finding.evidence;
  const double ratio = error_ratio(check);
  const std::string times = std::isfinite(ratio) ? fmt::format("{:.3g} x tolerance", ratio)
                                                 : std::string("must be equal, or finite");
  return fmt::format("{} on {}, {}: {}", check.tensor, check.workload, check.distribution, times);
}

/// @param formulas they were compared alone
void print_audit(const Audited& one, bool formulas) {
  const std::string_view of_checks = formulas             ? "formulas compared"
                                     : one.audit.passed() ? "passed"
                                                          : "FAILED";
  fmt::print("{}: {}{}\n", one.problem->definition.name, of_checks,
             one.audit.formulas_hold() ? "" : ", FORMULAS ARE OFF");
  for (const AuditFinding& finding : one.audit.findings) {
    fmt::print("  {} {:<10}{:<15} {:<15}{:>8}  {}\n", finding.as_expected() ? ' ' : '!',
               to_string(finding.kind), finding.name, to_string(finding.verdict),
               fmt::format("{}/{}", finding.rejections, finding.checks), evidence_text(finding));
    fmt::print("    {:<26}{}\n", "", finding.what);
  }
}

/// The problem that the flags name, or all that are known.
std::vector<codegen::Problem> problems(const ProblemFlags& flags) {
  if (flags.given()) return {flags.problem()};
  std::vector<codegen::Problem> all;
  for (const codegen::CatalogEntry& entry : codegen::list_problems())
    all.push_back(codegen::load_problem(entry.folder));
  return all;
}

/// What the flags choose, or what covers every choice.
std::vector<std::shared_ptr<const ProblemInstance>> instances(const codegen::Problem& problem,
                                                              const ProblemFlags& flags) {
  if (flags.chosen()) return {flags.instance()};
  std::vector<std::shared_ptr<const ProblemInstance>> list;
  for (const Params& params : codegen::covering_params(problem))
    list.push_back(codegen::instantiate(problem, params));
  return list;
}

app::Target audit_target(const AuditFlags& flags, const app::Config& config) {
  app::Target target = app::choose_target(flags.device.empty() ? config.device : flags.device,
                                          flags.arch.empty() ? config.arch : flags.arch);
  if (!target.executes() || !target.device)
    fail(ExitCode::usage, "--device {}: an audit has to run somewhere: cuda or emulator", flags.device);
  return target;
}

ProblemAudit audit(const std::shared_ptr<const ProblemInstance>& instance, const app::Target& target,
                   const app::Config& config, const std::filesystem::path& database,
                   const AuditFlags& flags) {
  const app::AuditOptions& options = flags.options;
  if (!flags.formulas) return app::audit_and_store(instance, target, config, database, options);
  return {app::audit_formulas(*instance, target, config, options.workloads, options.seed)};
}

/// What is compared is counted by the CPU device, and is added to what was recorded of mutations.
void check_formula_flags(const AuditFlags& flags, const app::Target& target,
                         const std::vector<codegen::Problem>& problems) {
  if (!flags.formulas) return;
  if (target.kind != DeviceKind::emulator)
    fail(ExitCode::usage, "--formulas: the CPU device counts what a reference does: --device emulator");
  for (const codegen::Problem& problem : problems)
    if (flags.record && !app::has_audit_record(problem.folder))
      fail(ExitCode::usage,
           "--formulas adds to an audit.json, and {} has none of its present files: --record alone",
           problem.folder.string());
}

}  // namespace

int run_audit(const app::Arguments& arguments) {
  CLI::App app{
      "Audit problems: their checks must reject deliberate mistakes, and accept the reference's twin.",
      "alphakernel algorithms audit"};
  set_style(app, kAuditExamples);
  AuditFlags flags;
  add_audit_flags(app, flags);
  const std::string named = positional(arguments);
  // Beside --problem the word may be its value.
  if (!named.empty() && peek(arguments, "--problem").empty() && peek(arguments, "--algorithm").empty())
    static_cast<void>(codegen::find_problem(named));
  const ProblemFlags problem_flags(app, arguments, named);
  if (!parse(app, arguments)) return 0;
  if (flags.record && (problem_flags.chosen() || !flags.options.workloads.empty()))
    fail(ExitCode::usage, "--record needs every choice of parameters and the workloads as they are");
  const app::Config config = app::load_config();
  const app::Target target = audit_target(flags, config);
  const std::filesystem::path database = app::database_file(flags.database, config);
  Json results = Json::array();
  bool all_passed = true;
  const std::vector<codegen::Problem> chosen = problems(problem_flags);
  check_formula_flags(flags, target, chosen);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  for (const codegen::Problem& problem : chosen) {
    std::vector<Audited> audited;
    for (const auto& instance : instances(problem, problem_flags)) {
      audited.push_back({instance, audit(instance, target, config, database, flags)});
      if (!flags.json) print_audit(audited.back(), flags.formulas);
    }
    const auto all = [&](bool (ProblemAudit::*holds)() const) {
      return std::ranges::all_of(audited, [&](const Audited& one) { return (one.audit.*holds)(); });
    };
    const bool passed = all(flags.formulas ? &ProblemAudit::formulas_hold : &ProblemAudit::passed);
    if (flags.record && passed)
      app::write_audit_record(problem.folder, all(&ProblemAudit::formulas_compared));
    for (const Audited& one : audited) results.push_back(audit_json(one, flags.formulas));
    all_passed = all_passed && passed;
  }
  if (flags.json) fmt::print("{}\n", results.dump());
  return static_cast<int>(all_passed ? ExitCode::ok : ExitCode::audit);
}

}  // namespace ak::tools

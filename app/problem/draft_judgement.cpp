// SPDX-License-Identifier: Apache-2.0
#include "app/problem/draft_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/audit/problem_audits.h"
#include "codegen/problem/problem_files.h"
#include "codegen/source/assemble.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// How large a drafted problem may be: a wrong one costs every audit and every search. All chosen, above what the
// problems that ship have in these tiers, but for gemm and attention.
constexpr std::size_t kMostChoices = 8;  // of params that are audited
constexpr std::size_t kMostTensors = 12;
constexpr std::size_t kMostDistributions = 16;
constexpr std::size_t kMostMutations = 12;
constexpr std::size_t kMostWorkloads = 32;
constexpr double kMostSmallBytes = 4 << 20;         // of all tensors of a workload of tier emulator
constexpr double kMostBytes = 16.0 * (1ull << 30);  // of any other
constexpr std::size_t kLeastSmallWorkloads = 3;
constexpr std::size_t kLeastMutations = 2;
constexpr std::size_t kLeastDistributions = 2;
constexpr std::size_t kMostMessage = 1'500;  // bytes of one fault; a compiler says more than helps
constexpr std::size_t kMostFaults = 12;

double bytes_of(const ProblemInstance& problem, const AxisValues& sizes) {
  double bytes = 0;
  const auto add = [&](const TensorSpec& tensor) {
    if (tensor.is_scalar()) return;
    double one = info(tensor.dtype).bytes;
    for (const std::int64_t extent : tensor_extents(problem.definition, tensor, sizes))
      one *= static_cast<double>(extent);
    bytes += one;
  };
  std::ranges::for_each(problem.definition.inputs, add);
  std::ranges::for_each(problem.definition.outputs, add);
  return bytes;
}

void check_bytes(const ProblemInstance& problem, const std::string& name, WorkloadTier tier,
                 const AxisValues& sizes, std::vector<std::string>& faults) {
  const double most = tier == WorkloadTier::emulator ? kMostSmallBytes : kMostBytes;
  if (bytes_of(problem, sizes) > most)
    faults.push_back(
        fmt::format("workload {}: its tensors have more than {:.0f} bytes: make it smaller", name, most));
}

void check_workloads(const ProblemInstance& problem, std::vector<std::string>& faults) {
  std::size_t small = 0, timed = 0;
  for (const Workload& workload : problem.workloads) {
    const bool emulated = workload.tier == WorkloadTier::emulator;
    small += emulated;
    timed += !emulated && workload.has(WorkloadRole::time);
    check_bytes(problem, workload.name, workload.tier, workload.axes, faults);
  }
  for (const HeldOutRange& range : problem.held_out) {
    AxisValues largest;
    for (const auto& [axis, sizes] : range.axes) largest[axis] = sizes.high;
    check_bytes(problem, range.name, range.tier, largest, faults);
  }
  if (small < kLeastSmallWorkloads)
    faults.push_back(fmt::format(
        "workloads.jsonl: at least {} workloads of tier \"emulator\", with odd sizes", kLeastSmallWorkloads));
  if (timed == 0)
    faults.push_back("workloads.jsonl: at least one workload of tier \"gpu\" whose role has \"time\"");
}

/// @param what "mutations"
void check_count(std::string_view what, std::size_t count, std::size_t least, std::size_t most,
                 std::vector<std::string>& faults) {
  if (count < least || count > most)
    faults.push_back(fmt::format("{}: {} of them, expected {} to {}", what, count, least, most));
}

/// As of a candidate: what a reference may include is what any kernel may, so that no message of a compiler quotes a
/// file of this machine.
void check_reference(const ProblemInstance& problem, std::vector<std::string>& faults) {
  const Result<Candidate> candidate = parse_candidate("reference.cu", problem.reference_cu);
  if (!candidate) {
    faults.push_back(fmt::format("reference.cu:{}: {}", candidate.error().line, candidate.error().message));
    return;
  }
  for (const Diagnostic& found : codegen::pre_check(problem, *candidate))
    faults.push_back(fmt::format("reference.cu:{}: {}", found.line, found.message));
}

void check_instance(const ProblemInstance& problem, std::vector<std::string>& faults) {
  const Definition& definition = problem.definition;
  check_count("inputs and outputs", definition.inputs.size() + definition.outputs.size(), 1, kMostTensors,
              faults);
  check_count("distributions", problem.distributions.size(), kLeastDistributions, kMostDistributions, faults);
  check_count("mutations", problem.mutations.size(), kLeastMutations, kMostMutations, faults);
  check_count("workloads", problem.workloads.size(), 1, kMostWorkloads, faults);
  for (const TensorSpec& input : definition.inputs)
    if (input.values.size() > 1)
      faults.push_back(
          fmt::format("input '{}': give a scalar one \"value\", since examples name none", input.name));
  if (definition.description.empty())
    faults.push_back("definition.description: the formula, in words, is missing");
  check_workloads(problem, faults);
  check_reference(problem, faults);
}

/// A problem of this name ships: its measurements and this one's could not be told apart.
void check_name(const codegen::Problem& problem, std::vector<std::string>& faults) {
  const auto known = codegen::list_problems();
  if (std::ranges::find(known, problem.name, &codegen::CatalogEntry::name) != known.end())
    faults.push_back(
        fmt::format("name: '{}' is the name of a problem that ships: take another one", problem.name));
}

std::string audited_text(const AuditFinding& finding, const std::string& definition) {
  const std::string of = finding.tensor.empty() ? "" : fmt::format(" of '{}'", finding.tensor);
  if (finding.kind == AuditKind::honest)
    return fmt::format("audit of {}: the checks reject the reference's own twin: {}", definition,
                       finding.message);
  if (finding.kind == AuditKind::formula)
    return fmt::format("audit of {}: the formula \"{}\" is off: {}", definition, finding.name,
                       finding.message);
  return fmt::format("audit of {}: the checks accept the mutation '{}'{} ({}). {}", definition, finding.name,
                     of, finding.what, finding.message);
}

void audit_draft(const codegen::Problem& problem, const Target& target, const Config& config,
                 DraftJudgement& judgement) {
  bool compared = true;
  for (const Params& params : codegen::covering_params(problem)) {
    const auto instance = codegen::instantiate(problem, params);
    const ProblemAudit audit = audit_on(instance, target, config, {});
    ++judgement.choices;
    judgement.findings += audit.findings.size();
    compared = compared && audit.formulas_compared();
    for (const AuditFinding& finding : audit.findings)
      if (!finding.as_expected())
        judgement.faults.push_back(audited_text(finding, instance->definition.name));
    if (!judgement.faults.empty()) return;
  }
  write_audit_record(problem.folder, compared);
}

void judge_loaded(const codegen::Problem& problem, const Config& config, DraftJudgement& judgement) {
  judgement.name = problem.name;
  judgement.summary = problem.summary;
  check_name(problem, judgement.faults);
  const std::vector<Params> choices = codegen::covering_params(problem);
  check_count("choices of params to audit", choices.size(), 1, kMostChoices, judgement.faults);
  if (!judgement.faults.empty()) return;
  for (const Params& params : choices) {
    check_instance(*codegen::instantiate(problem, params), judgement.faults);
    if (!judgement.faults.empty()) return;
  }
  const Target target = choose_target("emulator", "");
  for (const DraftExample& example :
       read_examples(codegen::read_problem_file(problem.folder, kExamplesFile))) {
    judgement.examples.push_back(run_example(problem, example, judgement.examples, target, config));
    for (const std::string& fault : judgement.examples.back().faults)
      judgement.faults.push_back(fmt::format("example on workload {}: {}", example.workload, fault));
  }
  if (judgement.faults.empty()) audit_draft(problem, target, config, judgement);
}

/// Without the folder, whose place is nobody's business, and not longer than helps.
std::string as_told(std::string text, const fs::path& folder) {
  for (const std::string& place : {folder.string() + "/", folder.string()})
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at))
      text.erase(at, place.size());
  return sanitize(text, kMostMessage);
}

}  // namespace

DraftJudgement judge_draft(const fs::path& given, const Config& config) {
  const fs::path folder = fs::absolute(given).lexically_normal();  // a text that occurs nowhere by chance
  DraftJudgement judgement;
  try {
    judge_loaded(codegen::load_problem(folder), config, judgement);
  } catch (const JsonInputError& input_error) {
    judgement.faults.emplace_back(input_error.what());
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::usage) throw;
    judgement.faults.emplace_back(error.what());
  }
  if (judgement.faults.size() > kMostFaults) judgement.faults.resize(kMostFaults);
  for (std::string& fault : judgement.faults) fault = as_told(std::move(fault), folder);
  return judgement;
}

Json to_json(const DraftJudgement& judgement) {
  Json examples = Json::array();
  for (const ExampleRun& run : judgement.examples)
    examples.push_back({{"workload", run.example.workload},
                        {"inputs", run.example.inputs},
                        {"expected", run.example.outputs},
                        {"computed", run.computed},
                        {"agrees", run.faults.empty()},
                        {"shows", shown_mutations(run)}});
  return {{"name", judgement.name},
          {"summary", judgement.summary},
          {"passed", judgement.faults.empty()},
          {"faults", judgement.faults},
          {"choices", judgement.choices},
          {"findings", judgement.findings},
          {"examples", std::move(examples)},
          {"unshown_mutations",
           judgement.examples.empty() ? Json() : Json(unshown_mutations(judgement.examples))}};
}

}  // namespace ak::app

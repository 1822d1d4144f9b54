// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/problem_audit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/plan/input_mutation.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile_pool.h"
#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/problem_build.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// For one mutation on all workloads; the worker's own watchdog ends a hang (chosen).
constexpr std::chrono::minutes kTaskLimit{30};

/// What is checked in a candidate's place: a program, or where there is none the reference's own twin, perhaps with
/// one of the problem's mutations.
struct StandIn {
  KernelImage image = {};
  std::optional<std::string> twin = {};
};

/// What the device needs: the problem, its twin, and its mutations.
struct Programs {
  std::shared_ptr<const OpenProblem> problem;
  StandIn honest;
  std::vector<StandIn> mutations;  ///< as ProblemInstance::mutations
};

TranslationUnit mutation_unit(const AuditRequest& request, const EvaluatorOptions& options,
                              const SourceAssembler& assembler, const Mutation& mutation) {
  auto unit = assembler.mutation_reference(*request.problem, options.target, mutation);
  if (!unit) fail(ExitCode::bad_input, "mutation '{}': {}", mutation.name, unit.error().message);
  return std::move(unit).value();
}

KernelImage mutation_image(const Mutation& mutation, const BuildResult& build, DeviceKind kind) {
  if (build.outcome.status != Status::ok) {
    fail(ExitCode::bad_input, "mutation '{}': reference.cu does not compile with {} defined: {}\n{}",
         mutation.name, mutation.macro, build.outcome.message, build.log);
  }
  KernelImage image = kernel_image(build, kind);
  image.file_name = "reference.cu";
  return image;
}

/// A reference in Python makes its mutations itself.
Programs python_programs(std::shared_ptr<const OpenProblem> open, const ProblemInstance& problem) {
  Programs programs{.problem = std::move(open), .honest = {.twin = ""}, .mutations = {}};
  for (const Mutation& mutation : problem.mutations) programs.mutations.push_back({.twin = mutation.name});
  return programs;
}

Programs build_programs(const EvaluatorOptions& options, const SourceAssembler& assembler,
                        const DeviceFacts& device, const AuditRequest& request) {
  CompilePool pool({.worker_command = options.worker_command,
                    .workers = options.compile_workers,
                    .deadline = options.compile_deadline,
                    .cache_dir = options.cache_dir});
  ProblemBuild problem(
      request.problem, options.target, assembler,
      [&](const TranslationUnit& unit) { return pool.submit(unit, BuildOrigin::own); }, options.python);
  const std::vector<Mutation>& mutations = request.problem->mutations;
  std::map<BuildTicket, std::size_t> tickets;
  const bool compiled = !request.problem->python;
  for (std::size_t i = 0; compiled && i < mutations.size(); ++i)
    tickets[pool.submit(mutation_unit(request, options, assembler, mutations[i]), BuildOrigin::own)] = i;
  Programs programs{.problem = {}, .honest = {}, .mutations = std::vector<StandIn>(mutations.size())};
  while (const auto built = pool.wait(steady_clock::time_point::max())) {
    if (problem.take(built->ticket, built->result)) continue;
    const std::size_t mutation = tickets.at(built->ticket);
    programs.mutations[mutation].image = mutation_image(mutations[mutation], built->result, options.device);
  }
  programs.problem =
      problem.open_problem(device_environment(device, options.target), options.ordinal, options.device);
  if (!compiled) return python_programs(std::move(programs.problem), *request.problem);
  programs.honest.image = programs.problem->twin;
  return programs;
}

/// Says nothing about the problem: the device did not get to a verdict.
bool undecided(Status status) {
  return status == Status::unsupported || status == Status::infrastructure_error ||
         status == Status::out_of_memory || status == Status::timeout || status == Status::interrupted;
}

/// Failures first, then by error.
bool less_informative(const CheckRecord& a, const CheckRecord& b) {
  return std::pair(!a.passed, error_ratio(a)) < std::pair(!b.passed, error_ratio(b));
}

/// What the reference had to deviate from, for a person to know.
std::string notes_of(const Outcome& outcome) {
  std::vector<std::string> notes;
  for (const Diagnostic& diagnostic : outcome.diagnostics)
    if (diagnostic.severity == "note") notes.push_back(diagnostic.message);
  return fmt::format("{}", fmt::join(notes, "; "));
}

void judge(AuditFinding& finding, const std::vector<CheckRecord>& records) {
  for (const CheckRecord& record : records) {
    if (!finding.tensor.empty() && record.tensor != finding.tensor) continue;
    ++finding.checks;
    finding.rejections += !record.passed;
    if (!finding.evidence || less_informative(*finding.evidence, record)) finding.evidence = record;
  }
}

class Audit {
 public:
  Audit(const EvaluatorOptions& options, Programs programs, const AuditRequest& request)
      : programs_(std::move(programs)), request_(request), client_(device_command(options)) {
    client_.open(programs_.problem);
  }

  ProblemAudit run() {
    ProblemAudit audit;
    audit.findings.push_back(try_twin());
    if (!audit.passed()) return audit;
    for (const AutomaticMutation& mutation : kAutomaticMutations) try_automatic(mutation, audit.findings);
    for (const TensorSpec& input : request_.problem->definition.inputs) {
      for (const InputMutation& mutation :
           input.is_scalar() ? scalar_mutations() : input_mutations(input.dtype))
        audit.findings.push_back(try_input(mutation, input));
    }
    for (std::size_t i = 0; i < programs_.mutations.size(); ++i)
      audit.findings.push_back(try_declared(request_.problem->mutations[i], programs_.mutations[i]));
    return audit;
  }

 private:
  static std::vector<std::string> device_command(const EvaluatorOptions& options) {
    std::vector<std::string> command = options.launcher;
    command.insert(command.end(), options.worker_command.begin(), options.worker_command.end());
    command.insert(command.end(), {"--role", "device"});
    return command;
  }

  DeviceAnswer ask(const DeviceTask& task) {
    DeviceAnswer answer = client_.run(task, steady_clock::now() + kTaskLimit).answer;
    if (undecided(answer.outcome.status))
      fail(ExitCode::environment, "{} cannot be audited here: {}", request_.problem->definition.name,
           explain(answer.outcome));
    return answer;
  }

  /// Every workload with all its distributions.
  DeviceTask task(const StandIn& stand_in, std::string mutation) const {
    DeviceTask task{.image = stand_in.image,
                    .seed = request_.seed,
                    .workloads = {},
                    .budget = {},
                    .dump_dir = {},
                    .mutation = std::move(mutation),
                    .twin = stand_in.twin};
    for (const std::string& name : request_.workloads) {
      WorkloadTask& one = task.workloads.emplace_back();
      one.workload = name;
      one.plan = programs_.problem->workload(name).twin;
      one.separate_outputs = true;
      for (const DrawnInputs& inputs : programs_.problem->workload(name).distributions)
        one.distributions.push_back(inputs.name);
    }
    return task;
  }

  AuditFinding try_twin() {
    const DeviceAnswer answer = ask(task(programs_.honest, ""));
    AuditFinding finding{.kind = AuditKind::honest,
                         .name = "honest",
                         .what = "the reference's twin, which must pass",
                         .tensor = {},
                         .evidence = {}};
    judge(finding, answer.checks);
    const bool passed = answer.outcome.status == Status::ok;
    finding.verdict = passed ? AuditVerdict::accepted : AuditVerdict::rejected;
    finding.message = passed ? notes_of(answer.outcome) : explain(answer.outcome);
    return finding;
  }

  /// A check of a candidate ends at its first failure, so every workload and distribution is asked for alone; no more of
  /// them than it takes, as most of an audit's time is here.
  AuditFinding try_declared(const Mutation& mutation, const StandIn& stand_in) {
    AuditFinding finding{.kind = AuditKind::declared,
                         .name = mutation.name,
                         .what = mutation.what,
                         .tensor = {},
                         .evidence = {}};
    std::set<std::string, std::less<>> rejected_under;
    const auto decided = [&](const std::string& distribution) {
      return !request_.every_comparison && !rejected_under.empty() &&
             (rejected_under.contains(distribution) ||
              std::ranges::find(mutation.fails_on, distribution) == mutation.fails_on.end());
    };
    const DeviceTask all = task(stand_in, "");
    for (const WorkloadTask& workload : all.workloads) {
      for (const std::string& distribution : workload.distributions) {
        if (decided(distribution)) continue;
        DeviceTask one = all;
        one.workloads = {workload};
        one.workloads.front().distributions = {distribution};
        const DeviceAnswer answer = ask(one);
        const int failed_before = finding.rejections;
        judge(finding, answer.checks);
        if (answer.outcome.status == Status::ok) continue;
        rejected_under.insert(distribution);
        if (finding.rejections == failed_before) ++finding.rejections;  // not by a comparison
        if (finding.message.empty()) finding.message = explain(answer.outcome);
      }
    }
    const auto missed = std::ranges::find_if(
        mutation.fails_on, [&](const std::string& name) { return !rejected_under.contains(name); });
    const bool rejected = !rejected_under.empty() && missed == mutation.fails_on.end();
    finding.verdict = rejected ? AuditVerdict::rejected : AuditVerdict::accepted;
    if (missed != mutation.fails_on.end())
      finding.message =
          fmt::format("it must be rejected under the distribution '{}', and is on no workload", *missed);
    return finding;
  }

  AuditFinding try_input(const InputMutation& mutation, const TensorSpec& input) {
    DeviceTask asked = task({}, mutation.name);
    asked.mutated_input = input.name;
    const DeviceAnswer answer = ask(asked);
    if (answer.outcome.status != Status::ok) fail(ExitCode::environment, "{}", explain(answer.outcome));
    AuditFinding finding{.kind = AuditKind::automatic,
                         .name = mutation.name,
                         .what = fmt::format("{} of '{}'", mutation.what, input.name),
                         .tensor = input.name,
                         .evidence = {}};
    for (const CheckRecord& record : answer.checks) {
      ++finding.checks;
      finding.rejections += !record.passed;
      if (!finding.evidence || less_informative(*finding.evidence, record)) finding.evidence = record;
    }
    judge_input(finding, mutation, input);
    exempt_if_said(finding);
    return finding;
  }

  /// What it means that the checks did not notice: that there was nothing to see, too little, or that inputs
  /// lack what a candidate should look at.
  void judge_input(AuditFinding& finding, const InputMutation& mutation, const TensorSpec& input) const {
    if (finding.rejections > 0) {
      finding.verdict = AuditVerdict::rejected;
    } else if (finding.checks > 0) {
      finding.verdict = mutation.essential ? AuditVerdict::accepted : AuditVerdict::not_applicable;
      finding.message = fmt::format("changes results by at most {:.2g} of what is tolerated",
                                    error_ratio(*finding.evidence));
    } else if (!info(input.dtype).floating && says_nothing_of(input.name)) {
      finding.verdict = AuditVerdict::accepted;
      finding.message = fmt::format(
          "no value that is drawn of '{}' has these bits, because the problem does not say which values it "
          "has: give it a \"draw\", such as \"integers\" (every value of {}) or \"integers(-8, 8)\"",
          input.name, info(input.dtype).name);
    } else {
      finding.message = "changes no value that is drawn";
    }
  }

  [[nodiscard]] bool says_nothing_of(const std::string& input) const {
    return std::ranges::all_of(request_.problem->distributions, [&](const InputDistribution& distribution) {
      return says_nothing_of_integers(distribution.draw_of(input));
    });
  }

  void exempt_if_said(AuditFinding& finding) const {
    const auto exempt = request_.problem->audit_exempt.find(finding.name);
    if (finding.as_expected() || exempt == request_.problem->audit_exempt.end()) return;
    for (const std::string& tensor : {finding.tensor, std::string()}) {
      const auto reason = exempt->second.find(tensor);
      if (reason == exempt->second.end()) continue;
      finding.verdict = AuditVerdict::exempt;
      finding.message = reason->second;
      return;
    }
  }

  void try_automatic(const AutomaticMutation& mutation, std::vector<AuditFinding>& findings) {
    const DeviceAnswer answer = ask(task({}, std::string(mutation.name)));
    if (answer.outcome.status != Status::ok) fail(ExitCode::environment, "{}", explain(answer.outcome));
    for (const TensorSpec& output : request_.problem->definition.outputs) {
      AuditFinding finding{.kind = AuditKind::automatic,
                           .name = std::string(mutation.name),
                           .what = std::string(mutation.what),
                           .tensor = output.name,
                           .evidence = {}};
      judge(finding, answer.checks);
      if (finding.checks > 0)
        finding.verdict = finding.rejections > 0 ? AuditVerdict::rejected : AuditVerdict::accepted;
      exempt_if_said(finding);
      findings.push_back(std::move(finding));
    }
  }

  Programs programs_;
  const AuditRequest& request_;
  DeviceClient client_;
};

}  // namespace

ProblemAudit audit_problem(const EvaluatorOptions& options, const SourceAssembler& assembler,
                           const DeviceFacts& device, const AuditRequest& request) {
  return Audit(options, build_programs(options, assembler, device, request), request).run();
}

}  // namespace ak::runtime

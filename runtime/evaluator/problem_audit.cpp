// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/problem_audit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile_pool.h"
#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/problem_build.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// For one mutation on all workloads; the worker's own watchdog ends a hang (chosen).
constexpr std::chrono::minutes kTaskLimit{30};

/// What the device needs: the problem, and its mutations as programs.
struct Programs {
  std::shared_ptr<const OpenProblem> problem;
  std::vector<KernelImage> mutations;  ///< as ProblemInstance::mutations
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

Programs build_programs(const EvaluatorOptions& options, const SourceAssembler& assembler,
                        const DeviceFacts& device, const AuditRequest& request) {
  CompilePool pool({.worker_command = options.worker_command,
                    .workers = options.compile_workers,
                    .deadline = options.compile_deadline,
                    .cache_dir = options.cache_dir});
  ProblemBuild problem(request.problem, options.target, assembler,
                       [&](const TranslationUnit& unit) { return pool.submit(unit); });
  const std::vector<Mutation>& mutations = request.problem->mutations;
  std::map<BuildTicket, std::size_t> tickets;
  for (std::size_t i = 0; i < mutations.size(); ++i)
    tickets[pool.submit(mutation_unit(request, options, assembler, mutations[i]))] = i;
  Programs programs{.problem = {}, .mutations = std::vector<KernelImage>(mutations.size())};
  while (const auto built = pool.wait(steady_clock::time_point::max())) {
    if (problem.take(built->ticket, built->result)) continue;
    const std::size_t mutation = tickets.at(built->ticket);
    programs.mutations[mutation] = mutation_image(mutations[mutation], built->result, options.device);
  }
  programs.problem =
      problem.open_problem(device_environment(device, options.target), options.ordinal, options.device);
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
    audit.findings.push_back(try_program(AuditKind::honest, "honest", "the reference's twin, which must pass",
                                         programs_.problem->twin));
    if (!audit.passed()) return audit;
    for (const AutomaticMutation& mutation : kAutomaticMutations) try_automatic(mutation, audit.findings);
    for (std::size_t i = 0; i < programs_.mutations.size(); ++i) {
      const Mutation& mutation = request_.problem->mutations[i];
      audit.findings.push_back(
          try_program(AuditKind::declared, mutation.name, mutation.what, programs_.mutations[i]));
    }
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

  /// Every workload with every distribution.
  DeviceTask task(KernelImage image, std::string mutation) const {
    DeviceTask task{.image = std::move(image),
                    .seed = request_.seed,
                    .workloads = {},
                    .budget = {},
                    .dump_dir = {},
                    .mutation = std::move(mutation)};
    for (const std::string& name : request_.workloads) {
      WorkloadTask& one = task.workloads.emplace_back();
      one.workload = name;
      one.plan = programs_.problem->workload(name).twin;
      one.separate_outputs = true;
      for (const InputDistribution& distribution : request_.problem->distributions)
        one.distributions.push_back(distribution.name);
    }
    return task;
  }

  AuditFinding try_program(AuditKind kind, const std::string& name, const std::string& what,
                           const KernelImage& image) {
    const DeviceAnswer answer = ask(task(image, ""));
    AuditFinding finding{.kind = kind, .name = name, .what = what, .tensor = {}, .evidence = {}};
    judge(finding, answer.checks);
    const bool passed = answer.outcome.status == Status::ok;
    finding.verdict = passed ? AuditVerdict::accepted : AuditVerdict::rejected;
    if (!passed) finding.message = explain(answer.outcome);
    return finding;
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
      const auto exempt = request_.problem->audit_exempt.find(finding.name);
      if (!finding.as_expected() && exempt != request_.problem->audit_exempt.end()) {
        finding.verdict = AuditVerdict::exempt;
        finding.message = exempt->second;
      }
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

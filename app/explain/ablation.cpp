// SPDX-License-Identifier: Apache-2.0
#include "app/explain/ablation.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/audit/problem_audits.h"
#include "app/evaluate/user_search.h"
#include "codegen/source/optimisations.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/database.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxSteps = 10;  // a handful: each costs a build and the checks

/// Its constraints hold and its launches are possible on the shapes that the kernel was timed on.
bool possible(const StoredKernel& kernel, const Candidate& candidate) {
  std::vector<const Workload*> shapes;
  for (const Workload& workload : kernel.problem->workloads)
    if (std::ranges::any_of(kernel.stored.result.measurements,
                            [&](const Measurement& m) { return m.workload == workload.name; }))
      shapes.push_back(&workload);
  return !shapes.empty() &&
         runtime::resolve_plans(*kernel.problem, candidate, shapes,
                                device_environment(kernel.stored.device, kernel.stored.arch))
             .ok();
}

/// The device that the kernel was evaluated on, unless another one is requested.
Target target_of(const StoredKernel& kernel, const EvaluationOptions& evaluation_options,
                 const Config& config) {
  const bool emulated = kernel.stored.device.kind == DeviceKind::emulator;
  const std::string device = !evaluation_options.device.empty() ? evaluation_options.device
                             : emulated                         ? "emulator"
                                                                : config.device;
  Target target = choose_target(
      device, evaluation_options.arch.empty() ? kernel.stored.arch.sm() : evaluation_options.arch);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  if (!target.executes())
    fail(ExitCode::usage, "an ablation needs a device that runs kernels: {}", target.notice);
  return target;
}

/// The step in alternation with the kernel itself, as the loop compares a challenger with its champion.
void compare(UserSearch& search, const Candidate& step, const Candidate& kernel, RowId variant) {
  EvaluationRequest request = search.request(step);
  request.rival = std::make_shared<const Candidate>(kernel);
  request.tag = std::to_string(variant);
  search.commit(search.complete(std::move(request)), "comparison");
}

}  // namespace

std::vector<AblationStep> ablation_steps(const StoredKernel& kernel) {
  std::vector<AblationStep> steps;
  for (const Tunable& tunable : kernel.candidate.plan.tunables) {
    std::vector<std::int64_t> values = tunable.values;
    std::ranges::sort(values);
    for (const std::int64_t value : values) {
      if (value >= kernel.candidate.tunables.at(tunable.name)) break;
      Candidate step = kernel.candidate;
      step.tunables[tunable.name] = value;
      if (!possible(kernel, step)) continue;
      steps.push_back({.candidate = std::move(step)});
      break;
    }
  }
  for (const std::string& macro : codegen::switches_of(kernel.candidate)) {
    Candidate step = kernel.candidate;
    step.name = fmt::format("{} = 0", macro);
    step.source = codegen::switched_off(step.source, macro);
    steps.push_back({.candidate = std::move(step), .in_text = true});
  }
  if (steps.size() > kMaxSteps) steps.resize(kMaxSteps);
  return steps;
}

void run_ablation(const StoredKernel& kernel, const EvaluationOptions& evaluation_options,
                  const Config& config, const std::filesystem::path& database) {
  const Target target = target_of(kernel, evaluation_options, config);
  const bool audited = require_audit(*kernel.problem, evaluation_options.unaudited, config, database);
  const auto store = db::open_store(database);
  UserSearch search({.problem = kernel.problem, .command = evaluation_options.command, .audited = audited},
                    target, config, *store);
  const Completed own = search.complete(search.request(kernel.candidate));
  const RowId variant = search.commit(own, "ablation").variant;
  const bool passed = own.result.outcome.status == Status::ok;
  if (passed) {
    for (const AblationStep& step : ablation_steps(kernel)) {
      const Completed done = search.complete(search.request(step.candidate));
      search.commit(done, "ablation", step.in_text ? std::vector{variant} : std::vector<RowId>{});
      if (target.kind == DeviceKind::cuda && done.result.outcome.status == Status::ok)
        compare(search, step.candidate, kernel.candidate, variant);
    }
  }
  search.end("ablation", passed ? std::optional(variant) : std::nullopt);
}

}  // namespace ak::app

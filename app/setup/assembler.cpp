// SPDX-License-Identifier: Apache-2.0
#include "app/setup/assembler.h"

#include <fmt/format.h>

#include "agent/evaluate_one.h"
#include "app/setup/program_paths.h"
#include "codegen/source/assemble.h"
#include "profiler/analysis/metric_catalog.h"
#include "runtime/evaluator/compute_sanitizer.h"
#include "runtime/reference/reference_starter.h"

namespace ak::app {

runtime::SourceAssembler source_assembler() {
  using codegen::ReferenceMode;
  return {
      .pre_check = codegen::pre_check,
      .candidate = codegen::assemble,
      .exact_reference =
          [](const ProblemInstance& problem, const Arch& arch) {
            return codegen::assemble_reference(problem, arch, ReferenceMode::exact);
          },
      .twin_reference =
          [](const ProblemInstance& problem, const Arch& arch) {
            return codegen::assemble_reference(problem, arch, ReferenceMode::twin);
          },
      .plain = codegen::assemble_plain,
      .mutation_reference =
          [](const ProblemInstance& problem, const Arch& arch, const Mutation& mutation) {
            return codegen::assemble_reference(problem, arch, ReferenceMode::twin, &mutation);
          },
  };
}

const std::shared_ptr<runtime::ReferenceStarter>& reference_starter() {
  static const auto starter = std::make_shared<runtime::ReferenceStarter>();
  return starter;
}

runtime::EvaluatorOptions evaluator_options(const Target& target, const Config& config) {
  runtime::EvaluatorOptions options;
  options.device = target.kind;
  options.ordinal = target.ordinal;
  options.target = target.arch;
  if (!target.here()) options.pool = {target.pool.front()};
  options.compile_workers = config.workers;
  options.cache_dir = config.cache.empty() ? default_cache_dir() : std::filesystem::path(config.cache);
  options.worker_command = worker_command();
  options.python = {.program = named_python(config), .starter = reference_starter()};
  options.name_metrics = profiler::named;
  return options;
}

std::unique_ptr<Evaluator> make_evaluator(const Target& target, const Config& config) {
  return runtime::make_local_evaluator(evaluator_options(target, config), source_assembler());
}

namespace {

std::function<std::unique_ptr<Evaluator>()> cpu_device(const Target& target, const Config& config,
                                                       const runtime::OnEvaluatorWait& on_wait, int sms) {
  runtime::EvaluatorOptions options = evaluator_options(target, config);
  options.on_wait = on_wait;
  options.device = DeviceKind::emulator;
  options.emulated_sms = sms;
  options.pool.clear();
  options.compile_workers = 2;  // the references, and one candidate that is in the cache
  return [options] { return runtime::make_local_evaluator(options, source_assembler()); };
}

}  // namespace

std::vector<agent::LoopOptions::Examiner> small_devices(const Target& target, const Config& config,
                                                        const runtime::OnEvaluatorWait& on_wait) {
  return {{.name = "CPU device of one multiprocessor",
           .make = cpu_device(target, config, on_wait, 1),
           .is_smaller = true},
          {.name = "CPU device of two multiprocessors",
           .make = cpu_device(target, config, on_wait, 2),
           .is_smaller = true}};
}

std::vector<agent::LoopOptions::Examiner> examiners(const Target& target, const Config& config,
                                                    const DeviceFacts& device,
                                                    const runtime::OnEvaluatorWait& on_wait) {
  std::vector<agent::LoopOptions::Examiner> found = small_devices(target, config, on_wait);
  if (target.kind == DeviceKind::emulator) return found;
  found.insert(found.begin(), {.name = "CPU device", .make = cpu_device(target, config, on_wait, 0)});
  runtime::EvaluatorOptions options = evaluator_options(target, config);
  options.on_wait = on_wait;
  if (const auto program = runtime::find_compute_sanitizer(); !program.empty() && target.here()) {
    found.push_back({.name = "compute-sanitizer", .make = [options, program, device] {
                       return runtime::make_compute_sanitizer(options, source_assembler(), program, device);
                     }});
  }
  return found;
}

BuildResult built_kernel(const std::shared_ptr<const ProblemInstance>& problem, const Candidate& candidate,
                         const Arch& arch, const Config& config) {
  const Target target{.kind = DeviceKind::none, .arch = arch, .device = std::nullopt, .notice = {}};
  const auto evaluator = make_evaluator(target, config);
  EvaluationRequest request;
  request.problem = problem;
  request.candidate = candidate;
  request.arch = arch;
  request.depth = Depth::build;
  EvaluationResult result = agent::evaluate_one(*evaluator, std::move(request)).result;
  // A kernel that needs more than an SM has is what this is asked about.
  const bool built = result.build && result.build->outcome.status == Status::ok;
  if (!built) fail(ExitCode::bad_input, "{}: {}", candidate.name, explain(result.outcome));
  return std::move(*result.build);
}

}  // namespace ak::app

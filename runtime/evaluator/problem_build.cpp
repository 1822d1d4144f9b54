// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/problem_build.h"

#include <chrono>

#include "core/error.h"
#include "core/plan/work.h"
#include "core/text/hash.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile_pool.h"
#include "runtime/check/harness_kernels.h"
#include "runtime/reference/reference_starter.h"

namespace ak::runtime {
namespace {

std::string reference_path(const ProblemInstance& problem) {
  return (problem.folder / "reference.cu").string();
}

TranslationUnit assembled(const ProblemInstance& problem, Result<TranslationUnit> unit) {
  if (!unit) fail(ExitCode::bad_input, "{}: {}", reference_path(problem), unit.error().message);
  return std::move(unit).value();
}

TranslationUnit harness_unit(const ProblemInstance& problem, const Arch& arch,
                             const SourceAssembler& assembler) {
  std::vector<DType> used;
  for (const auto* list : {&problem.definition.inputs, &problem.definition.outputs}) {
    for (const TensorSpec& tensor : *list) used.push_back(tensor.dtype);
  }
  HarnessSource harness = harness_source(used, problem.tolerance.has_views());
  TranslationUnit unit = assembler.plain(harness.file_name, harness.source, arch);
  for (auto& header : harness.headers) unit.headers.push_back(std::move(header));
  unit.options.insert(unit.options.end(), harness.options.begin(), harness.options.end());
  unit.kernels = std::move(harness.kernels);
  return unit;
}

const std::string& image_of(const BuildResult& build, DeviceKind kind) {
  return kind == DeviceKind::emulator ? build.ptx : build.cubin;
}

std::vector<TensorLayout> tensor_layouts(const ProblemInstance& problem) {
  std::vector<TensorLayout> layouts;
  for (const TensorSpec& input : problem.definition.inputs) {
    layouts.push_back({.name = input.name,
                       .dtype = input.dtype,
                       .output = false,
                       .alias_of = {},
                       .scalar = input.is_scalar(),
                       .weight = input.weight});
  }
  for (const TensorSpec& output : problem.definition.outputs) {
    const auto alias = problem.aliases.find(output.name);
    layouts.push_back({.name = output.name,
                       .dtype = output.dtype,
                       .output = true,
                       .alias_of = alias == problem.aliases.end() ? std::string() : alias->second,
                       .zeroed = output.zeroed});
  }
  return layouts;
}

/// Every input of the workload under each of its distributions.
std::vector<DrawnInputs> drawn_inputs(const ProblemInstance& problem, const Workload& workload) {
  std::vector<DrawnInputs> drawn;
  for (const InputDistribution* distribution : problem.distributions_of(workload)) {
    auto draws = problem.draws(*distribution, workload.axes);
    if (!draws)
      fail(ExitCode::bad_input, "{}: workload '{}': {}", (problem.folder / "problem.json").string(),
           workload.name, draws.error().message);
    drawn.push_back({.name = distribution->name, .draws = std::move(draws).value()});
  }
  return drawn;
}

Candidate reference_candidate(const ProblemInstance& problem) {
  auto candidate = parse_candidate("reference.cu", problem.reference_cu);
  if (!candidate) fail(ExitCode::bad_input, "{}: {}", reference_path(problem), candidate.error().message);
  return std::move(candidate).value();
}

}  // namespace

std::shared_ptr<const OpenProblem> build_problem(const EvaluatorOptions& options,
                                                 const SourceAssembler& assembler, const DeviceFacts& device,
                                                 const std::shared_ptr<const ProblemInstance>& problem) {
  CompilePool pool({.worker_command = options.worker_command,
                    .workers = options.compile_workers,
                    .deadline = options.compile_deadline,
                    .cache_dir = options.cache_dir});
  ProblemBuild build(
      problem, options.target, assembler,
      [&](const TranslationUnit& unit) { return pool.submit(unit, BuildOrigin::own); }, options.python);
  while (!build.ready()) {
    const auto built = pool.wait(std::chrono::steady_clock::time_point::max());
    AK_ASSERT(built && build.take(built->ticket, built->result), "only the problem's parts are built");
  }
  return build.open_problem(device_environment(device, options.target), options.ordinal, options.device);
}

KernelImage kernel_image(const BuildResult& build, DeviceKind kind) {
  KernelImage image{.image = image_of(build, kind), .kernels = {}};
  for (const KernelFacts& kernel : build.kernels)
    image.kernels.emplace_back(kernel.expression, kernel.lowered_name);
  return image;
}

ProblemBuild::ProblemBuild(std::shared_ptr<const ProblemInstance> problem, const Arch& arch,
                           const SourceAssembler& assembler, const Submit& submit, const PythonChoice& python)
    : problem_(std::move(problem)), arch_(arch) {
  if (problem_->python) choose(python);
  start(Part::harness, harness_unit(*problem_, arch, assembler), submit);
  if (problem_->python) return;
  start(Part::exact, assembled(*problem_, assembler.exact_reference(*problem_, arch)), submit);
  start(Part::twin, assembled(*problem_, assembler.twin_reference(*problem_, arch)), submit);
}

/// PyTorch is imported while the builds go on.
void ProblemBuild::choose(const PythonChoice& python) {
  python_ = find_python(python.program);
  if (python.starter) starter_ = python.starter->offer(*python_);
}

void ProblemBuild::start(Part part, const TranslationUnit& unit, const Submit& submit) {
  builds_[submit(unit)] = part;
}

bool ProblemBuild::take(std::uint64_t build, const BuildResult& result) {
  const auto found = builds_.find(build);
  if (found == builds_.end()) return false;
  const Outcome& outcome = result.outcome;
  if (outcome.status != Status::ok) {
    const bool harness = found->second == Part::harness;
    fail(harness || outcome.status == Status::infrastructure_error ? ExitCode::environment
                                                                   : ExitCode::bad_input,
         "{} does not compile for {}: {}\n{}",
         harness ? "the harness's own kernels" : reference_path(*problem_), arch_.sm(), outcome.message,
         result.log);
  }
  results_[found->second] = result;
  return true;
}

std::shared_ptr<const OpenProblem> ProblemBuild::open_problem(const Environment& device, int ordinal,
                                                              DeviceKind kind) {
  std::shared_ptr<const OpenProblem>& opened = opened_[ordinal];
  if (opened) return opened;
  auto open = std::make_shared<OpenProblem>();
  open->problem = problem_->problem;
  open->device = kind;
  open->arch = arch_;
  open->ordinal = ordinal;
  if (kind == DeviceKind::emulator)
    open->sm_count = static_cast<int>(std::get<std::int64_t>(device.at("SM_COUNT")));
  open->harness_image = image_of(result(Part::harness), kind);
  open->tensors = tensor_layouts(*problem_);
  open->tolerance = problem_->tolerance;
  for (const auto& [name, value] : problem_->params) open->params[name] = to_string(value);
  open->libraries = problem_->baselines;
  problem_->python ? add_process(*open) : add_kernel(*open, device, kind);
  return opened = open;
}

WorkloadLayout ProblemBuild::layout_of(const Workload& workload) const {
  WorkloadLayout layout{.name = workload.name, .shapes = {}, .exact = {}, .twin = {}};
  for (const auto* list : {&problem_->definition.inputs, &problem_->definition.outputs}) {
    for (const TensorSpec& tensor : *list)
      layout.shapes.push_back(tensor_extents(problem_->definition, tensor, workload.axes));
  }
  layout.distributions = drawn_inputs(*problem_, workload);
  return layout;
}

void ProblemBuild::add_kernel(OpenProblem& open, const Environment& device, DeviceKind kind) const {
  open.exact = kernel_image(result(Part::exact), kind);
  open.twin = kernel_image(result(Part::twin), kind);
  open.exact.file_name = open.twin.file_name = "reference.cu";
  std::vector<const Workload*> workloads;
  for (const Workload& workload : problem_->workloads) workloads.push_back(&workload);
  auto plans = resolve_plans(*problem_, reference_candidate(*problem_), workloads, device);
  if (!plans) fail(ExitCode::bad_input, "{}: {}", reference_path(*problem_), plans.error().message);
  for (WorkloadPlan& plan : plans.value()) {
    for (const Part part : {Part::exact, Part::twin}) {
      if (auto wrong = check_argument_types(plan.plan, result(part)))
        fail(ExitCode::bad_input, "{}: {}", reference_path(*problem_), wrong->message);
    }
    WorkloadLayout& layout = open.workloads.emplace_back(layout_of(*plan.workload));
    layout.exact = layout.twin = plan.plan;
  }
}

void ProblemBuild::add_process(OpenProblem& open) const {
  const PythonReference& reference = *problem_->python;
  open.python = {.program = python_->program,
                 .path = python_->path,
                 .readable = python_->readable,
                 .file = reference.file,
                 .source_hash = sha256_hex(reference.source),
                 .kind = reference.kind,
                 .options = reference.options,
                 .starter = starter_};
  for (const Workload& workload : problem_->workloads) {
    WorkloadLayout& layout = open.workloads.emplace_back(layout_of(workload));
    const Environment sizes = problem_->environment(workload.axes);
    for (const Axis& axis : problem_->definition.axes)
      layout.axes[axis.name] = std::get<std::int64_t>(sizes.at(axis.name));
    const Result<Work> work = work_of(*problem_, workload);
    if (work) layout.operations = work->flops;
  }
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/data_set_builder.h"

#include <algorithm>
#include <chrono>

#include "core/plan/random_input.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// A plain fp64 reference of a large problem takes seconds; beyond this it is taken for
// hung (chosen, untested).
constexpr double kReferenceLimitMs = 120'000;

Outcome reference_fault(std::string message) {
  return {.status = Status::invalid_reference,
          .stage = StageId::check,
          .message = std::move(message),
          .diagnostics = {}};
}

bool is_aliased(const OpenProblem& problem, const std::string& input) {
  return std::any_of(problem.tensors.begin(), problem.tensors.end(),
                     [&](const TensorLayout& t) { return t.alias_of == input; });
}

std::size_t exact_bytes(const WorkloadLayout& workload, std::size_t tensor) {
  return static_cast<std::size_t>(workload.elements(tensor)) * 8;
}

}  // namespace

DataSetBuilder::DataSetBuilder(RunContext& run_context, const WorkloadLayout& workload,
                               const InputDistribution& distribution)
    : run_context_(run_context), distribution_(distribution), set_(std::make_shared<DataSet>()) {
  set_->workload = &workload;
  set_->distribution = distribution.name;
  for (std::size_t i = 0; i < run_context_.problem.tensors.size(); ++i)
    run_context_.problem.tensors[i].output ? add_reference(i) : add_input(i);
}

void DataSetBuilder::add_input(std::size_t tensor) {
  const TensorLayout& layout = run_context_.problem.tensors[tensor];
  const std::size_t bytes = run_context_.tensor_bytes(*set_->workload, tensor);
  InputData input{
      .tensor = tensor,
      .buffer = GuardedBuffer(bytes, run_context_.random_shift(), fmt::format("input '{}'", layout.name)),
      .pristine = {},
      .aliased = is_aliased(run_context_.problem, layout.name),
      .hash = 0};
  input.buffer.arm_guards(run_context_.stream);
  if (run_context_.inspector != nullptr)
    run_context_.inspector->name_region(input.buffer.data(), fmt::format("input '{}'", layout.name),
                                        !input.aliased);
  if (input.aliased) input.pristine = DeviceBuffer(bytes, fmt::format("a copy of input '{}'", layout.name));
  set_->bytes += bytes * (input.aliased ? 2 : 1) + 2 * kGuardBytes;
  set_->inputs.push_back(std::move(input));
}

void DataSetBuilder::fill(std::uint64_t seed) {
  set_->seed = seed;
  for (const InputData& input : set_->inputs) {
    const TensorLayout& layout = run_context_.problem.tensors[input.tensor];
    const BufferView data = input.buffer.data();
    run_context_.kernels.fill(data, layout.dtype, set_->workload->elements(input.tensor),
                              tensor_key(seed, layout.name), distribution_);
    if (run_context_.inspector != nullptr) run_context_.inspector->mark_contents(data, true);
    if (!input.aliased) continue;
    check(driver().cuMemcpyDtoDAsync(input.pristine.address(), data.address, data.bytes, run_context_.stream),
          "copying an input");
  }
}

std::optional<Outcome> DataSetBuilder::make_references(const LoadedImage& exact, const LoadedImage& twin) {
  for (InputData& input : set_->inputs) input.hash = run_context_.kernels.hash(input.buffer.data());
  if (auto failed = run(exact, set_->workload->exact, true)) return failed;
  if (auto failed = run(twin, set_->workload->twin, false)) return failed;
  for (ReferenceData& reference : set_->references) {
    if (auto failed = derive_tolerance(reference)) return failed;
  }
  return std::nullopt;
}

void DataSetBuilder::add_reference(std::size_t tensor) {
  const std::string& name = run_context_.problem.tensors[tensor].name;
  const int ordinal = run_context_.context.ordinal();
  ReferenceData reference{.tensor = tensor,
                          .exact = HiddenBuffer(exact_bytes(*set_->workload, tensor), ordinal,
                                                fmt::format("the reference of '{}'", name)),
                          .twin = HiddenBuffer(run_context_.tensor_bytes(*set_->workload, tensor), ordinal,
                                               fmt::format("the twin of '{}'", name))};
  set_->bytes += reference.exact.reserved_bytes() + reference.twin.reserved_bytes();
  set_->references.push_back(std::move(reference));
}

std::optional<Outcome> DataSetBuilder::run(const LoadedImage& image, const ResolvedPlan& plan, bool exact) {
  const std::string what = fmt::format("the {} reference of {} on workload {}", exact ? "exact" : "twin",
                                       run_context_.problem.problem, set_->workload->name);
  run_context_.report({.activity = "reference", .what = what, .limit_ms = kReferenceLimitMs});
  AddressTable addresses;
  for (const InputData& input : set_->inputs) addresses[name_of(input.tensor)] = input.buffer.data();
  std::vector<HiddenBuffer::Mapping> mappings;
  for (const ReferenceData& reference : set_->references) {
    const HiddenBuffer& buffer = exact ? reference.exact : reference.twin;
    mappings.push_back(buffer.map());
    addresses[name_of(reference.tensor)] = {mappings.back().address(), buffer.bytes()};
    poison(addresses[name_of(reference.tensor)], run_context_.problem.tensors[reference.tensor].dtype);
  }
  std::vector<DeviceBuffer> workspace;
  for (const ResolvedWorkspace& entry : plan.workspace) {
    workspace.emplace_back(
        static_cast<std::size_t>(entry.count) * static_cast<std::size_t>(info(entry.dtype).bytes), what);
    addresses[entry.name] = workspace.back().view();
    poison(workspace.back().view(), entry.dtype);
  }
  const auto prepared = PreparedPlan::prepare(plan, image, addresses);
  if (!prepared) return reference_fault(fmt::format("{}: {}", what, prepared.error().message));
  const auto start = steady_clock::now();
  if (run_context_.inspector != nullptr) static_cast<void>(run_context_.inspector->take_warp_instructions());
  if (auto failed = prepared->enqueue(run_context_.stream)) return refused(what, *failed);
  run_context_.synchronize(what);
  if (run_context_.inspector != nullptr) {
    set_->reference_instructions =
        std::max(set_->reference_instructions, run_context_.inspector->take_warp_instructions());
  }
  set_->reference_ms = std::max(
      set_->reference_ms, std::chrono::duration<double, std::milli>(steady_clock::now() - start).count());
  return std::nullopt;
}

// That the CPU device cannot run the reference says nothing against the reference.
Outcome DataSetBuilder::refused(const std::string& what, const Outcome& failure) const {
  const Outcome known = judged(run_context_.inspector, failure);
  Outcome outcome = reference_fault(fmt::format("{}: {}", what, known.message));
  if (known.status == Status::unsupported) outcome.status = Status::unsupported;
  outcome.diagnostics = known.diagnostics;
  return outcome;
}

void DataSetBuilder::poison(BufferView buffer, DType dtype) {
  check(driver().cuMemsetD8Async(buffer.address, poison_byte(dtype), buffer.bytes, run_context_.stream),
        "poisoning reference memory");
}

std::optional<Outcome> DataSetBuilder::derive_tolerance(ReferenceData& reference) {
  const TensorLayout& layout = run_context_.problem.tensors[reference.tensor];
  const std::int64_t count = set_->workload->elements(reference.tensor);
  const auto exact = reference.exact.map();
  const auto twin = reference.twin.map();
  reference.rms = run_context_.kernels.rms(exact.address(), info(layout.dtype).floating, count);
  const Comparison own = run_context_.kernels.compare({.dtype = layout.dtype,
                                                       .got = twin.address(),
                                                       .expected = exact.address(),
                                                       .twin = twin.address(),
                                                       .count = count,
                                                       .rms = reference.rms,
                                                       .tolerance = 1e300});
  const std::string where = fmt::format("{} on workload {}, distribution {}", layout.name,
                                        set_->workload->name, set_->distribution);
  if (own.unwritten > 0 && info(layout.dtype).floating) {
    return reference_fault(
        fmt::format("the reference never writes element {} of {}", own.first_unwritten, where));
  }
  if (own.wrong > 0) {
    return reference_fault(
        fmt::format("exact reference and low-precision twin disagree in {} elements of {}, worst at index {}",
                    own.wrong, where, own.worst));
  }
  if (!info(layout.dtype).floating) return std::nullopt;
  const Tolerance& tolerance = run_context_.problem.tolerance;
  const double floor = tolerance.floor_ulps * info(layout.dtype).unit_roundoff;
  reference.max_tolerance = tolerance.factor * std::max(own.max_error, floor);
  reference.mean_tolerance = tolerance.factor * std::max(own.mean_error, floor);
  return std::nullopt;
}

std::size_t data_set_bytes(const RunContext& run_context, const WorkloadLayout& workload) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < run_context.problem.tensors.size(); ++i) {
    bytes += run_context.tensor_bytes(workload, i) +
             (run_context.problem.tensors[i].output ? exact_bytes(workload, i) : 0);
  }
  return bytes;
}

}  // namespace ak::runtime

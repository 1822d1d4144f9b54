// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/data_set_maker.h"

#include <algorithm>
#include <chrono>

#include "core/plan/random_input.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// A plain fp64 reference of a large problem takes seconds; beyond this it is taken for hung (chosen,
// untested).
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

DataSetMaker::DataSetMaker(Workbench& bench, const WorkloadLayout& workload,
                           const InputDistribution& distribution)
    : bench_(bench), distribution_(distribution), set_(std::make_shared<DataSet>()) {
  set_->workload = &workload;
  set_->distribution = distribution.name;
  for (std::size_t i = 0; i < bench_.problem.tensors.size(); ++i)
    bench_.problem.tensors[i].output ? add_reference(i) : add_input(i);
}

void DataSetMaker::add_input(std::size_t tensor) {
  const TensorLayout& layout = bench_.problem.tensors[tensor];
  const std::size_t bytes = bench_.tensor_bytes(*set_->workload, tensor);
  InputData input{
      .tensor = tensor,
      .buffer = GuardedBuffer(bytes, bench_.random_shift(), fmt::format("input '{}'", layout.name)),
      .pristine = {},
      .aliased = is_aliased(bench_.problem, layout.name),
      .hash = 0};
  input.buffer.arm_guards(bench_.stream);
  if (bench_.critic != nullptr)
    bench_.critic->name_region(input.buffer.data(), fmt::format("input '{}'", layout.name), !input.aliased);
  if (input.aliased) input.pristine = DeviceBuffer(bytes, fmt::format("a copy of input '{}'", layout.name));
  set_->bytes += bytes * (input.aliased ? 2 : 1) + 2 * kGuardBytes;
  set_->inputs.push_back(std::move(input));
}

void DataSetMaker::fill(std::uint64_t seed) {
  set_->seed = seed;
  for (const InputData& input : set_->inputs) {
    const TensorLayout& layout = bench_.problem.tensors[input.tensor];
    const BufferView data = input.buffer.data();
    bench_.kernels.fill(data, layout.dtype, set_->workload->elements(input.tensor),
                        tensor_key(seed, layout.name), distribution_);
    if (bench_.critic != nullptr) bench_.critic->mark_contents(data, true);
    if (!input.aliased) continue;
    check(driver().cuMemcpyDtoDAsync(input.pristine.address(), data.address, data.bytes, bench_.stream),
          "copying an input");
  }
}

std::optional<Outcome> DataSetMaker::make_references(const LoadedImage& exact, const LoadedImage& twin) {
  for (InputData& input : set_->inputs) input.hash = bench_.kernels.hash(input.buffer.data());
  if (auto failed = run(exact, set_->workload->exact, true)) return failed;
  if (auto failed = run(twin, set_->workload->twin, false)) return failed;
  for (ReferenceData& reference : set_->references) {
    if (auto failed = derive_tolerance(reference)) return failed;
  }
  return std::nullopt;
}

void DataSetMaker::add_reference(std::size_t tensor) {
  const std::string& name = bench_.problem.tensors[tensor].name;
  const int ordinal = bench_.context.ordinal();
  ReferenceData reference{.tensor = tensor,
                          .exact = HiddenBuffer(exact_bytes(*set_->workload, tensor), ordinal,
                                                fmt::format("the reference of '{}'", name)),
                          .twin = HiddenBuffer(bench_.tensor_bytes(*set_->workload, tensor), ordinal,
                                               fmt::format("the twin of '{}'", name))};
  set_->bytes += reference.exact.reserved_bytes() + reference.twin.reserved_bytes();
  set_->references.push_back(std::move(reference));
}

std::optional<Outcome> DataSetMaker::run(const LoadedImage& image, const ResolvedPlan& plan, bool exact) {
  const std::string what = fmt::format("the {} reference of {} on workload {}", exact ? "exact" : "twin",
                                       bench_.problem.problem, set_->workload->name);
  bench_.report({.doing = "reference", .what = what, .limit_ms = kReferenceLimitMs});
  AddressTable addresses;
  for (const InputData& input : set_->inputs) addresses[name_of(input.tensor)] = input.buffer.data();
  std::vector<HiddenBuffer::Mapping> mappings;
  for (const ReferenceData& reference : set_->references) {
    const HiddenBuffer& buffer = exact ? reference.exact : reference.twin;
    mappings.push_back(buffer.map());
    addresses[name_of(reference.tensor)] = {mappings.back().address(), buffer.bytes()};
    poison(addresses[name_of(reference.tensor)], bench_.problem.tensors[reference.tensor].dtype);
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
  if (bench_.critic != nullptr) static_cast<void>(bench_.critic->take_warp_instructions());
  if (auto failed = prepared->enqueue(bench_.stream)) return refused(what, *failed);
  bench_.synchronize(what);
  if (bench_.critic != nullptr) {
    set_->reference_instructions =
        std::max(set_->reference_instructions, bench_.critic->take_warp_instructions());
  }
  set_->reference_ms = std::max(
      set_->reference_ms, std::chrono::duration<double, std::milli>(steady_clock::now() - start).count());
  return std::nullopt;
}

// That the CPU device cannot run the reference says nothing against the reference.
Outcome DataSetMaker::refused(const std::string& what, const Outcome& failure) const {
  const Outcome known = judged(bench_.critic, failure);
  Outcome outcome = reference_fault(fmt::format("{}: {}", what, known.message));
  if (known.status == Status::unsupported) outcome.status = Status::unsupported;
  outcome.diagnostics = known.diagnostics;
  return outcome;
}

void DataSetMaker::poison(BufferView buffer, DType dtype) {
  check(driver().cuMemsetD8Async(buffer.address, poison_byte(dtype), buffer.bytes, bench_.stream),
        "poisoning reference memory");
}

std::optional<Outcome> DataSetMaker::derive_tolerance(ReferenceData& reference) {
  const TensorLayout& layout = bench_.problem.tensors[reference.tensor];
  const std::int64_t count = set_->workload->elements(reference.tensor);
  const auto exact = reference.exact.map();
  const auto twin = reference.twin.map();
  reference.rms = bench_.kernels.rms(exact.address(), info(layout.dtype).floating, count);
  const Comparison own = bench_.kernels.compare({.dtype = layout.dtype,
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
  const Tolerance& tolerance = bench_.problem.tolerance;
  const double floor = tolerance.floor_ulps * info(layout.dtype).unit_roundoff;
  reference.max_tolerance = tolerance.factor * std::max(own.max_error, floor);
  reference.mean_tolerance = tolerance.factor * std::max(own.mean_error, floor);
  return std::nullopt;
}

std::size_t data_set_bytes(const Workbench& bench, const WorkloadLayout& workload) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < bench.problem.tensors.size(); ++i) {
    bytes +=
        bench.tensor_bytes(workload, i) + (bench.problem.tensors[i].output ? exact_bytes(workload, i) : 0);
  }
  return bytes;
}

}  // namespace ak::runtime

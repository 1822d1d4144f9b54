// SPDX-License-Identifier: Apache-2.0
#include "runtime/data_set.h"

#include <algorithm>
#include <chrono>

#include "core/random_input.h"

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

class DataSetMaker {
 public:
  DataSetMaker(Workbench& bench, const WorkloadLayout& workload, const InputDistribution& distribution,
               std::uint64_t seed)
      : bench_(bench), distribution_(distribution), set_(std::make_shared<DataSet>()) {
    set_->workload = &workload;
    set_->distribution = distribution.name;
    set_->seed = seed;
  }

  Result<std::shared_ptr<const DataSet>, Outcome> make(const LoadedImage& exact, const LoadedImage& twin) {
    for (std::size_t i = 0; i < bench_.problem.tensors.size(); ++i) {
      bench_.problem.tensors[i].output ? add_reference(i) : add_input(i);
    }
    if (auto failed = run(exact, set_->workload->exact, true)) return *failed;
    if (auto failed = run(twin, set_->workload->twin, false)) return *failed;
    for (ReferenceData& reference : set_->references) {
      if (auto failed = derive_tolerance(reference)) return *failed;
    }
    return std::shared_ptr<const DataSet>(set_);
  }

 private:
  void add_input(std::size_t tensor) {
    const TensorLayout& layout = bench_.problem.tensors[tensor];
    const std::size_t bytes = bench_.tensor_bytes(*set_->workload, tensor);
    InputData input{
        .tensor = tensor,
        .buffer = GuardedBuffer(bytes, bench_.random_shift(), fmt::format("input '{}'", layout.name)),
        .pristine = {},
        .aliased = is_aliased(bench_.problem, layout.name),
        .hash = 0};
    input.buffer.arm_guards(bench_.stream);
    bench_.kernels.fill(input.buffer.data(), layout.dtype, set_->workload->elements(tensor),
                        tensor_key(set_->seed, layout.name), distribution_);
    if (bench_.critic != nullptr) {
      bench_.critic->name_region(input.buffer.data(), fmt::format("input '{}'", layout.name), !input.aliased);
      bench_.critic->mark_contents(input.buffer.data(), true);
    }
    input.hash = bench_.kernels.hash(input.buffer.data());
    if (input.aliased) {
      input.pristine = DeviceBuffer(bytes, fmt::format("a copy of input '{}'", layout.name));
      check(driver().cuMemcpyDtoDAsync(input.pristine.address(), input.buffer.data().address, bytes,
                                       bench_.stream),
            "copying an input");
    }
    set_->bytes += bytes * (input.aliased ? 2 : 1) + 2 * kGuardBytes;
    set_->inputs.push_back(std::move(input));
  }

  void add_reference(std::size_t tensor) {
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

  std::optional<Outcome> run(const LoadedImage& image, const ResolvedPlan& plan, bool exact) {
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
  Outcome refused(const std::string& what, const Outcome& failure) const {
    const Outcome known = judged(bench_.critic, failure);
    Outcome outcome = reference_fault(fmt::format("{}: {}", what, known.message));
    if (known.status == Status::unsupported) outcome.status = Status::unsupported;
    outcome.diagnostics = known.diagnostics;
    return outcome;
  }

  void poison(BufferView buffer, DType dtype) {
    check(driver().cuMemsetD8Async(buffer.address, poison_byte(dtype), buffer.bytes, bench_.stream),
          "poisoning reference memory");
  }

  std::optional<Outcome> derive_tolerance(ReferenceData& reference) {
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
      return reference_fault(fmt::format(
          "exact reference and low-precision twin disagree in {} elements of {}, worst at index {}",
          own.wrong, where, own.worst));
    }
    if (!info(layout.dtype).floating) return std::nullopt;
    const Tolerance& tolerance = bench_.problem.tolerance;
    const double floor = tolerance.floor_ulps * info(layout.dtype).unit_roundoff;
    reference.max_tolerance = tolerance.factor * std::max(own.max_error, floor);
    reference.mean_tolerance = tolerance.factor * std::max(own.mean_error, floor);
    return std::nullopt;
  }

  const std::string& name_of(std::size_t tensor) const { return bench_.problem.tensors[tensor].name; }

  Workbench& bench_;
  const InputDistribution& distribution_;
  std::shared_ptr<DataSet> set_;
};

std::size_t estimate_bytes(const Workbench& bench, const WorkloadLayout& workload) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < bench.problem.tensors.size(); ++i) {
    bytes +=
        bench.tensor_bytes(workload, i) + (bench.problem.tensors[i].output ? exact_bytes(workload, i) : 0);
  }
  return bytes;
}

}  // namespace

DataStore::DataStore(Workbench& bench, const LoadedImage& exact, const LoadedImage& twin)
    : bench_(bench),
      exact_(exact),
      twin_(twin),
      // An eighth of the device leaves room for large workspaces; 8 GiB hold the workloads of the built-in
      // problems.
      budget_bytes_(
          bench.critic != nullptr
              ? static_cast<std::size_t>(bench.context.facts().memory_bytes) / 4
              : std::max<std::size_t>(std::size_t{8} << 30,
                                      static_cast<std::size_t>(bench.context.facts().memory_bytes) / 8)) {}

Result<std::shared_ptr<const DataSet>, Outcome> DataStore::get(const WorkloadLayout& workload,
                                                               const std::string& distribution,
                                                               std::uint64_t seed) {
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const auto& set) {
    return set->workload == &workload && set->distribution == distribution && set->seed == seed;
  });
  if (found != sets_.end()) {
    sets_.splice(sets_.begin(), sets_, found);
    return sets_.front();
  }
  const auto& all = bench_.problem.distributions;
  const auto wanted = std::find_if(all.begin(), all.end(),
                                   [&](const InputDistribution& d) { return d.name == distribution; });
  if (wanted == all.end())
    fail(ExitCode::internal_error, "device task: unknown distribution '{}'", distribution);
  const auto start = steady_clock::now();
  make_room(estimate_bytes(bench_, workload));
  auto made = make(workload, *wanted, seed);
  making_ms_ += std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
  if (made) sets_.push_front(made.value());
  return made;
}

Result<std::shared_ptr<const DataSet>, Outcome> DataStore::make(const WorkloadLayout& workload,
                                                                const InputDistribution& distribution,
                                                                std::uint64_t seed) {
  try {
    return DataSetMaker(bench_, workload, distribution, seed).make(exact_, twin_);
  } catch (const CudaError& error) {
    if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
    return Outcome{
        .status = Status::out_of_memory,
        .stage = StageId::check,
        .message = fmt::format("workload {} does not fit the device: {}", workload.name, error.what()),
        .diagnostics = {}};
  }
}

void DataStore::make_room(std::size_t bytes) {
  const auto total = [&] {
    std::size_t sum = 0;
    for (const auto& set : sets_) sum += set->bytes;
    return sum;
  };
  while (!sets_.empty() && total() + bytes > budget_bytes_) sets_.pop_back();
}

}  // namespace ak::runtime

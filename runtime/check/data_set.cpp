// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/data_set.h"

#include <algorithm>
#include <chrono>

#include "runtime/check/data_set_builder.h"
#include "runtime/check/typical_results.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

/// Data sets after which one that was not asked for again is forgotten. An evaluation asks for about three of a workload
/// that is timed, and a few distributions more of one that is checked (chosen).
constexpr std::uint64_t kTurn = 16;

/// What `step` says, or that memory ran out in it.
template <class Step>
std::optional<Outcome> or_out_of_memory(const WorkloadLayout& workload, Step step) try {
  return step();
} catch (const CudaError& error) {
  if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
  return Outcome{
      .status = Status::out_of_memory,
      .stage = StageId::check,
      .message = fmt::format("workload {} does not fit the device: {}", workload.name, error.what()),
      .diagnostics = {}};
}

/// A quarter of the device leaves room for what a kernel is timed with; 8 GiB hold the workloads of the built-in problems.
std::size_t budget_for(const RunContext& run_context) {
  const std::size_t least = run_context.inspector != nullptr ? 0 : std::size_t{8} << 30;
  return std::max(least, static_cast<std::size_t>(run_context.context.facts().memory_bytes) / 4);
}

}  // namespace

void ReleaseMemory::operator()(Reference* reference) const noexcept { reference->hold_memory(false); }

DataStore::DataStore(RunContext& run_context, Reference& reference, std::size_t budget_bytes)
    : run_context_(run_context), reference_(reference), budget_bytes_(budget_bytes) {}

DataStore::DataStore(RunContext& run_context, Reference& reference)
    : DataStore(run_context, reference, budget_for(run_context)) {}

Result<std::shared_ptr<const DataSet>, Outcome> DataStore::get(const WorkloadLayout& workload,
                                                               const std::string& distribution,
                                                               std::uint64_t seed) {
  ++gets_;
  const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.set->workload == &workload && kept.set->distribution == distribution &&
           kept.set->seed == seed;
  });
  if (found != kept_.end()) {
    found->used = gets_;
    kept_.splice(kept_.begin(), kept_, found);
    return found->set;
  }
  auto builder = make_changing(workload, distribution);
  if (!builder) return builder.error();
  (*builder)->fill(seed);
  if (auto failed = make_references(**builder)) return *failed;
  std::shared_ptr<const DataSet> set = (*builder)->data();
  make_room(set->bytes, workload);
  if (kept_bytes() + set->bytes <= budget_bytes_) kept_.push_front({set, gets_});
  return set;
}

std::optional<Outcome> DataStore::make_references(DataSetBuilder& builder) {
  const auto start = steady_clock::now();
  auto failed = or_out_of_memory(*builder.data()->workload, [&]() -> std::optional<Outcome> {
    const auto typical = typical_of(*builder.data());
    return typical ? builder.make_references(*typical) : typical.error();
  });
  making_ms_ += std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
  return failed;
}

Result<std::vector<TypicalResult>, Outcome> DataStore::typical_of(const DataSet& set) {
  if (!has_few_results(run_context_.problem, *set.workload)) return std::vector<TypicalResult>{};
  const std::pair key(set.workload, set.distribution);
  if (const auto known = typical_.find(key); known != typical_.end()) return known->second;
  auto builder = make_changing(*set.workload, set.distribution);
  if (!builder) return std::vector<TypicalResult>{};
  auto results = typical_results(run_context_.problem, **builder);
  if (results) typical_[key] = *results;
  return results;
}

Result<std::unique_ptr<DataSetBuilder>, Outcome> DataStore::make_changing(const WorkloadLayout& workload,
                                                                          const std::string& distribution) {
  const auto wanted = std::ranges::find(workload.distributions, distribution, &DrawnInputs::name);
  if (wanted == workload.distributions.end())
    fail(ExitCode::internal_error, "device task: unknown distribution '{}'", distribution);
  make_room(data_set_bytes(run_context_, workload), workload);
  return with_room([&]() -> Result<std::unique_ptr<DataSetBuilder>, Outcome> {
    std::unique_ptr<DataSetBuilder> builder;
    auto failed = or_out_of_memory(workload, [&]() -> std::optional<Outcome> {
      builder = std::make_unique<DataSetBuilder>(run_context_, reference_, workload, *wanted);
      return std::nullopt;
    });
    if (failed) return *failed;
    return builder;
  });
}

bool DataStore::reference_has_room(const WorkloadLayout& workload) const try {
  const std::size_t bytes = reference_.working_bytes(workload);
  if (bytes > 0) const DeviceBuffer room(bytes, "the reference's memory");
  return true;
} catch (const CudaError& error) {
  if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
  return false;
}

bool DataStore::reference_wants_room(const WorkloadLayout& workload) const {
  return reference_.working_bytes(workload) > 0;
}

void DataStore::release_reference_memory() const { reference_.give_back_memory(); }

void DataStore::give_room() {
  clear();
  release_reference_memory();
}

HeldMemory DataStore::hold_reference_memory() {
  reference_.hold_memory(true);
  return HeldMemory(&reference_);
}

std::size_t DataStore::kept_bytes() const {
  std::size_t sum = 0;
  for (const Kept& kept : kept_) sum += kept.set->bytes;
  return sum;
}

/// Sets of one workload are asked for in turns, so that the one unused longest is the next: it stays, and the new one is
/// not kept.
void DataStore::make_room(std::size_t bytes, const WorkloadLayout& workload) {
  while (!kept_.empty() && kept_bytes() + bytes > budget_bytes_) {
    const Kept& last = kept_.back();
    if (last.set->workload == &workload && gets_ - last.used < kTurn) return;
    kept_.pop_back();
  }
}

}  // namespace ak::runtime

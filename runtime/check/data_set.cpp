// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/data_set.h"

#include <algorithm>
#include <chrono>

#include "runtime/check/data_set_builder.h"
#include "runtime/check/typical_results.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

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

}  // namespace

void ReleaseMemory::operator()(Reference* reference) const noexcept { reference->hold_memory(false); }

DataStore::DataStore(RunContext& run_context, Reference& reference)
    : run_context_(run_context),
      reference_(reference),
      // An eighth of the device leaves room for large workspaces; 8 GiB hold the workloads of
      // the built-in problems.
      budget_bytes_(run_context.inspector != nullptr
                        ? static_cast<std::size_t>(run_context.context.facts().memory_bytes) / 4
                        : std::max<std::size_t>(
                              std::size_t{8} << 30,
                              static_cast<std::size_t>(run_context.context.facts().memory_bytes) / 8)) {}

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
  auto builder = make_changing(workload, distribution);
  if (!builder) return builder.error();
  (*builder)->fill(seed);
  if (auto failed = make_references(**builder)) return *failed;
  sets_.push_front((*builder)->data());
  return sets_.front();
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
  make_room(data_set_bytes(run_context_, workload));
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

void DataStore::release_reference_memory() const { reference_.hold_memory(false); }

void DataStore::give_room() {
  clear();
  release_reference_memory();
}

HeldMemory DataStore::hold_reference_memory() {
  reference_.hold_memory(true);
  return HeldMemory(&reference_);
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

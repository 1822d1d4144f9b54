// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/timed_inputs.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/gate.h"
#include "runtime/check/check.h"

namespace ak::runtime {
namespace {

/// Of single calls on contents that are kept: a result from the call before is wrong for this one.
constexpr std::size_t kSets = 2;

}  // namespace

Result<TimedInputs, Outcome> TimedInputs::create(RunContext& run_context, DataStore& store,
                                                 std::span<const TimingTarget* const> targets,
                                                 Contents contents, std::size_t calls, std::uint64_t seed) {
  TimedInputs inputs(run_context, store, calls);
  inputs.runs_.resize(targets.size());
  const std::size_t sets = contents == Contents::kept ? std::max(kSets, calls) : calls;
  for (std::size_t i = 0; i < sets; ++i) {
    auto failed = inputs.add_set(targets, contents, seed + i);
    if (!failed) continue;
    // One set has to do where two do not fit.
    if (failed->status == Status::out_of_memory && calls == 1 && i > 0) break;
    return *failed;
  }
  return inputs;
}

std::optional<Outcome> TimedInputs::add_set(std::span<const TimingTarget* const> targets, Contents contents,
                                            std::uint64_t seed) {
  const WorkloadLayout& workload = targets.front()->workload;
  const std::string& distribution = run_context_->problem.distributions.front().name;
  std::shared_ptr<const DataSet> data;
  if (contents == Contents::changing) {
    auto builder = store_->make_changing(workload, distribution);
    if (!builder) return builder.error();
    builders_.push_back(std::move(builder).value());
    data = builders_.back()->data();
  } else {
    auto kept = store_->get(workload, distribution, seed);
    if (!kept) return kept.error();
    data = kept.value();
  }
  std::vector<CandidateRun> bound;
  bound.reserve(targets.size());
  for (const TimingTarget* target : targets) {
    auto run = target->bind(data, bound.empty() ? nullptr : &bound.front());
    if (!run) return run.error();
    bound.push_back(std::move(run).value());
  }
  for (std::size_t i = 0; i < bound.size(); ++i) runs_[i].push_back(std::move(bound[i]));
  return std::nullopt;
}

std::optional<Outcome> TimedInputs::next(bool checked) {
  const std::size_t sets = runs_.front().size();
  order_.resize(sets);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::shuffle(order_.begin(), order_.end(), run_context_->random);
  order_.resize(std::min(calls_, sets));
  if (!gate_enabled(Gate::shuffled_batch)) std::ranges::fill(order_, std::size_t{0});
  return builders_.empty() ? std::nullopt : refill(checked);
}

std::optional<Outcome> TimedInputs::refill(bool checked) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& builder : builders_) {
    builder->fill(run_context_->random());
    if (!checked) continue;
    if (auto failed = store_->make_references(*builder)) return failed;
  }
  reference_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return std::nullopt;
}

std::optional<Outcome> TimedInputs::verify(std::size_t which, const std::string& when,
                                           std::vector<CheckRecord>& records) const {
  return for_calls(which, [&](const CandidateRun& run) {
    auto failed = run.verify_memory(StageId::recheck);
    return failed ? failed : compare_outputs(*run_context_, run, StageId::recheck, when, records);
  });
}

}  // namespace ak::runtime

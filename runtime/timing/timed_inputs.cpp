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
// A kernel that does not work in half of its samples, which it must to move the median, is found by eight checks
// with 99.6 %, by two with 75 %; every champion passes several measurements.
constexpr std::size_t kFewestChecks = 2, kMaxChecks = 8;
constexpr double kReferencesMs = 300;

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
  if (inputs.changing()) {
    if (auto failed = inputs.make_places()) return *failed;
  }
  return inputs;
}

std::optional<Outcome> TimedInputs::make_places() try {
  try {
    outputs_.emplace(*run_context_, runs_.front().front(), kMaxChecks, runs_.size(), builders_.size());
  } catch (const CudaError& error) {
    if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
    // Data sets that are kept for later, and all but one place, have to go first.
    store_->clear();
    outputs_.emplace(*run_context_, runs_.front().front(), 1, runs_.size(), builders_.size());
  }
  reservoir_.emplace(outputs_->places());
  samples_.resize(outputs_->places() + 1);
  return std::nullopt;
} catch (const CudaError& error) {
  if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
  return Outcome{.status = Status::out_of_memory,
                 .stage = StageId::time,
                 .message = fmt::format("workload {} does not fit the device with what its checks need: {}",
                                        builders_.front()->data()->workload->name, error.what()),
                 .diagnostics = {}};
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

void TimedInputs::next(bool counts) {
  const std::size_t sets = runs_.front().size();
  order_.resize(sets);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::shuffle(order_.begin(), order_.end(), run_context_->random);
  order_.resize(std::min(calls_, sets));
  if (!gate_enabled(Gate::shuffled_batch)) std::ranges::fill(order_, std::size_t{0});
  if (changing()) refill(counts);
}

void TimedInputs::refill(bool counts) {
  place_ = counts ? reservoir_->place_next(run_context_->random) : reservoir_->places();
  Sample& sample = samples_[place_];
  sample = {};
  sample.sets = order_;
  for (const auto& builder : builders_) {
    sample.seeds.push_back(run_context_->random());
    builder->fill(sample.seeds.back());
  }
}

void TimedInputs::keep(std::size_t which) {
  if (!changing()) return;
  samples_[place_].order.push_back(which);
  for (std::size_t set = 0; set < runs_[which].size(); ++set)
    outputs_->keep(place_, which, set, runs_[which][set]);
}

std::optional<Outcome> TimedInputs::verify(std::size_t which, const std::string& when,
                                           std::vector<CheckRecord>& records) const {
  return for_calls(which, [&](const CandidateRun& run) {
    auto failed = run.verify_memory(StageId::recheck);
    return failed ? failed : compare_outputs(*run_context_, run, StageId::recheck, when, records);
  });
}

std::optional<TimedFault> TimedInputs::verify_kept(const std::string& when,
                                                   std::span<std::vector<CheckRecord>* const> records) {
  for (std::size_t which = 0; which < runs_.size(); ++which) {
    for (const CandidateRun& run : runs_[which])
      if (auto wrong = run.verify_guards(StageId::recheck)) return TimedFault{std::move(*wrong), which};
  }
  std::vector<std::size_t> places(reservoir_->kept());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::shuffle(places.begin(), places.end(), run_context_->random);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    if (i >= kFewestChecks && spent.count() > kReferencesMs) break;
    if (auto fault = verify_sample(places[i], when, records)) return fault;
  }
  return std::nullopt;
}

std::optional<TimedFault> TimedInputs::verify_sample(std::size_t place, const std::string& when,
                                                     std::span<std::vector<CheckRecord>* const> records) {
  const Sample& sample = samples_[place];
  for (std::size_t set = 0; set < builders_.size(); ++set) {
    builders_[set]->fill(sample.seeds[set]);
    if (auto failed = store_->make_references(*builders_[set])) return TimedFault{std::move(*failed)};
  }
  for (const std::size_t which : sample.order) {
    if (auto wrong = verify_calls(place, which, when, *records[which]))
      return TimedFault{std::move(*wrong), which};
  }
  return std::nullopt;
}

std::optional<Outcome> TimedInputs::verify_calls(std::size_t place, std::size_t which,
                                                 const std::string& when,
                                                 std::vector<CheckRecord>& records) const {
  for (const std::size_t set : samples_[place].sets) {
    const CandidateRun& run = runs_[which][set];
    if (auto wrong = run.verify_inputs(StageId::recheck, outputs_->input_hashes(place, which, set)))
      return wrong;
    outputs_->restore(place, which, set, run);
    if (auto wrong = compare_outputs(*run_context_, run, StageId::recheck, when, records)) return wrong;
  }
  return std::nullopt;
}

}  // namespace ak::runtime

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
constexpr double kReferencesMs = 300;

}  // namespace

/// Where the outputs of samples are put aside, of how many samples, and what gives them room: nothing, what is kept for
/// later, or a second data set.
struct TimedInputs::PlacesChoice {
  enum class Room : std::uint8_t { as_is, without_kept, one_set };
  std::size_t places;
  MemorySide side;
  Room room;
};

Result<TimedInputs, Outcome> TimedInputs::create(RunContext& run_context, DataStore& store,
                                                 std::span<const TimingTarget* const> targets,
                                                 const SampleShape& shape, std::uint64_t seed) {
  TimedInputs inputs(run_context, store, shape);
  inputs.runs_.resize(targets.size());
  const std::size_t rotating = shape.contents == Contents::kept ? std::max(kSets, shape.calls) : shape.calls;
  const std::size_t sets = std::max(rotating, shape.calls + (shape.companion ? 1 : 0));
  for (std::size_t i = 0; i < sets; ++i) {
    auto failed = inputs.add_set(targets, shape.contents, seed + i);
    if (!failed) continue;
    // One set has to do where two do not fit.
    if (failed->status == Status::out_of_memory && shape.calls == 1 && i > 0) break;
    return *failed;
  }
  if (auto failed = inputs.make_places()) return *failed;
  inputs.held_ = store.hold_reference_memory();
  return inputs;
}

/// Contents that change have their references computed while all of this holds its memory, and a process that finds too
/// little on the GPU computes on the CPU, a hundred times slower: a second data set goes first.
std::optional<Outcome> TimedInputs::make_places() {
  using enum PlacesChoice::Room;
  // From the best to what fits nearly always.
  static constexpr PlacesChoice kPlaces[] = {{kMaxChecks, MemorySide::device, as_is},
                                             {kMinChecks, MemorySide::device, as_is},
                                             {1, MemorySide::device, without_kept},
                                             {1, MemorySide::device, one_set},
                                             {1, MemorySide::host, without_kept}};
  if (!builders_.empty()) store_->release_reference_memory();
  for (const PlacesChoice& choice : kPlaces) {
    if (choice.places > most_checks_) continue;
    if (choice.room != as_is) store_->give_room();
    if (choice.room == one_set && !drop_second_set()) continue;
    const bool needs_room = !builders_.empty() && choice.side == MemorySide::device;
    if (try_places(choice) && (!needs_room || store_->reference_has_room(workload()))) return std::nullopt;
  }
  return Outcome{.status = Status::out_of_memory,
                 .stage = StageId::time,
                 .message = fmt::format(
                     "workload {} does not fit the device with what its checks need, nor do "
                     "its outputs fit the host's memory: choose smaller shapes, or wait for what else uses "
                     "the device",
                     workload().name),
                 .diagnostics = {}};
}

bool TimedInputs::drop_second_set() {
  if (calls_ > 1 || builders_.size() < 2 || !store_->reference_wants_room(workload())) return false;
  for (auto& of_kernel : runs_) of_kernel.pop_back();
  builders_.pop_back();
  return true;
}

bool TimedInputs::try_places(const PlacesChoice& choice) try {
  outputs_.emplace(*run_context_, runs_.front().front(), choice.places, runs_.size(), runs_.front().size(),
                   choice.side);
  reservoir_.emplace(outputs_->places());
  kept_.resize(outputs_->places());
  return true;
} catch (const CudaError& error) {
  if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

std::optional<Outcome> TimedInputs::add_set(std::span<const TimingTarget* const> targets, Contents contents,
                                            std::uint64_t seed) {
  const WorkloadLayout& workload = targets.front()->workload;
  const std::string& distribution = workload.distributions.front().name;
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
    auto run =
        store_->with_room([&] { return target->bind(data, bound.empty() ? nullptr : &bound.front()); });
    if (!run) return run.error();
    if (contents == Contents::kept) {
      if (auto failed = run.value().prepare(StageId::time)) return failed;
    }
    bound.push_back(std::move(run).value());
  }
  for (std::size_t i = 0; i < bound.size(); ++i) runs_[i].push_back(std::move(bound[i]));
  return std::nullopt;
}

std::optional<TimedFault> TimedInputs::next() {
  sample_ = {};
  sample_.hashes.resize(runs_.size());
  std::vector<std::size_t>& order = sample_.sets;
  order.resize(runs_.front().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), run_context_->random);
  order.resize(calls());
  if (!gate_enabled(Gate::shuffled_batch)) std::ranges::fill(order, std::size_t{0});
  for (std::size_t set = 0; set < builders_.size(); ++set) {
    sample_.seeds.push_back(run_context_->random());
    builders_[set]->fill(sample_.seeds.back());
    if (auto fault = prepare_changed(set)) return fault;
  }
  return std::nullopt;
}

// A program that has run may know where activations lie: they come back when its weights are prepared.
std::optional<TimedFault> TimedInputs::prepare_changed(std::size_t set) {
  const bool prepares = std::ranges::any_of(
      runs_, [&](const std::vector<CandidateRun>& runs) { return runs[set].prepares_weights(); });
  if (!prepares) return std::nullopt;
  if (gate_enabled(Gate::weights_only)) builders_[set]->blank_activations();
  for (std::size_t which = 0; which < runs_.size(); ++which)
    if (auto failed = runs_[which][set].prepare(StageId::time)) return TimedFault{std::move(*failed), which};
  builders_[set]->fill(sample_.seeds[set]);
  return std::nullopt;
}

void TimedInputs::note_preparation(std::size_t which, Measurement& measurement) const {
  const CandidateRun& run = runs_[which].front();
  measurement.prepare_ns = run.prepare_ns();
  measurement.prepared_bytes = run.prepared_bytes();
}

const CandidateRun* TimedInputs::companion(std::size_t which) const {
  for (std::size_t set = 0; set < runs_[which].size(); ++set) {
    if (std::ranges::find(sample_.sets, set) == sample_.sets.end()) return &runs_[which][set];
  }
  return nullptr;
}

void TimedInputs::take(std::size_t which) {
  sample_.order.push_back(which);
  sample_.hashes[which] = outputs_->take(which, runs_[which]);
  for (const std::size_t set : sample_.sets) {
    if (changed_) break;
    if (auto changed = runs_[which][set].verify_prepared(StageId::recheck))
      changed_ = TimedFault{std::move(*changed), which};
  }
}

void TimedInputs::finish(bool counts) {
  sample_.index = reservoir_->seen();
  const std::size_t place = counts ? reservoir_->place_next(run_context_->random) : reservoir_->places();
  outputs_->keep(place);
  if (place < kept_.size()) kept_[place] = std::move(sample_);
}

std::optional<TimedFault> TimedInputs::verify_kept(const std::string& when,
                                                   std::span<std::vector<CheckRecord>* const> records) {
  if (changed_) return changed_;
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
    if (i >= kMinChecks && spent.count() > kReferencesMs) break;
    checked_.push_back(kept_[places[i]].index);
    if (auto fault = verify_sample(places[i], when, records)) return fault;
  }
  return std::nullopt;
}

std::vector<std::size_t> TimedInputs::checked() const {
  std::vector<std::size_t> ascending = checked_;
  std::ranges::sort(ascending);
  return ascending;
}

std::optional<TimedFault> TimedInputs::verify_sample(std::size_t place, const std::string& when,
                                                     std::span<std::vector<CheckRecord>* const> records) {
  const Sample& sample = kept_[place];
  for (std::size_t set = 0; set < builders_.size(); ++set) {
    if (std::ranges::find(sample.sets, set) == sample.sets.end()) continue;
    builders_[set]->fill(sample.seeds[set]);
    if (auto failed = store_->make_references(*builders_[set])) return TimedFault{std::move(*failed)};
  }
  for (const std::size_t which : sample.order) {
    if (auto fault = verify_calls(place, which, when, *records[which])) return fault;
  }
  return std::nullopt;
}

std::optional<TimedFault> TimedInputs::verify_calls(std::size_t place, std::size_t which,
                                                    const std::string& when,
                                                    std::vector<CheckRecord>& records) const {
  for (const std::size_t set : kept_[place].sets) {
    const CandidateRun& run = runs_[which][set];
    const CallHashes& taken = kept_[place].hashes[which][set];
    if (auto wrong = run.verify_inputs(StageId::recheck, taken.inputs))
      return TimedFault{std::move(*wrong), which};
    if (!outputs_->restore(place, which, set, run, taken)) return TimedFault{overwritten(run)};
    if (auto wrong = compare_outputs(*run_context_, run, StageId::recheck, when, records))
      return TimedFault{std::move(*wrong), which};
  }
  return std::nullopt;
}

}  // namespace ak::runtime

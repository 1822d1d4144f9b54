// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/energy_calls.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "runtime/check/check.h"

namespace ak::runtime {
namespace {

// A turn has as many calls as take 100 us, so that launches of 2 us are little of it. Renewals take a twentieth of all
// turns' time, which is less than the noise of an energy.
constexpr double kTurnNs = 100e3, kRenewalShare = 0.05;
constexpr int kTimedRenewals = 3;
// A kernel that does not work in half of its calls is found by four sets with 94 %; as many as a batch has
// at most (docs/timing.md).
constexpr std::size_t kMinSets = 4, kMaxSets = 24;
// Between two looks at the energy counter, which moves every 20 to 100 ms; and as many calls at most, of
// which the driver's queue holds about a thousand.
constexpr double kRoundNs = 20e6;
constexpr std::size_t kMaxEnergyCalls = 4096;
constexpr std::size_t kMinVerified = 2;
constexpr double kVerifyMs = 300;

}  // namespace

Result<EnergyCalls, Outcome> EnergyCalls::create(RunContext& run_context, DataStore& store,
                                                 const TimingTarget& target, double call_ns) {
  EnergyCalls calls(run_context, store);
  store.release_reference_memory();
  const auto wanted = static_cast<std::size_t>(
      std::clamp(std::ceil(kTurnNs / std::max(call_ns, 1.0)), double{kMinSets}, double{kMaxSets}));
  while (calls.sets_.size() < wanted) {
    if (auto failed = calls.add_set(target)) {
      // Fewer have to do where so many do not fit.
      if (failed->status == Status::out_of_memory && !calls.sets_.empty()) break;
      return *failed;
    }
    // Nor may they take the memory in which their results are computed.
    if (calls.sets_.size() == 1 || store.reference_has_room(target.workload)) continue;
    calls.sets_.pop_back();
    break;
  }
  calls.choose_turns(std::max(call_ns, 1.0));
  calls.held_ = store.hold_reference_memory();
  return calls;
}

std::optional<Outcome> EnergyCalls::add_set(const TimingTarget& target) {
  auto builder = store_->make_changing(target.workload, target.workload.distributions.front().name);
  if (!builder) return builder.error();
  auto run = store_->with_room([&] { return target.bind((*builder)->data(), nullptr); });
  if (!run) return run.error();
  run->reset();
  Set set{.builder = std::move(builder).value(),
          .seeds = {},
          .weights_seed = run_context_->random(),
          .run = std::move(run).value()};
  set.builder->fill_weights(set.weights_seed);
  if (auto failed = set.run.prepare(StageId::time)) return failed;
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    set.seeds.push_back(run_context_->random());
    set.builder->fill_piece(piece, set.seeds.back());
  }
  sets_.push_back(std::move(set));
  return std::nullopt;
}

void EnergyCalls::choose_turns(double call_ns) {
  const auto sets = static_cast<double>(sets_.size());
  order_.resize(sets_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  renewal_chance_ = std::min(1.0, kRenewalShare * sets * call_ns / renewal_ns());
  const double most = std::max(1.0, static_cast<double>(kMaxEnergyCalls) / sets);
  turns_ = static_cast<std::size_t>(std::clamp(kRoundNs / (sets * call_ns), 1.0, most));
}

/// Of all sets.
double EnergyCalls::renewal_ns() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start;
  for (int i = 0; i <= kTimedRenewals; ++i) {
    renew_pieces();
    if (i > 0) continue;
    check(driver().cuStreamSynchronize(run_context_->stream), "drawing inputs");
    start = Clock::now();  // the first of a kind takes longer
  }
  check(driver().cuStreamSynchronize(run_context_->stream), "drawing inputs");
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kTimedRenewals;
}

void EnergyCalls::renew_pieces() {
  std::shuffle(order_.begin(), order_.end(), run_context_->random);
  for (const std::size_t index : order_) {
    Set& set = sets_[index];
    const std::size_t piece =
        std::uniform_int_distribution<std::size_t>(0, kPieces - 1)(run_context_->random);
    set.seeds[piece] = run_context_->random();
    set.builder->fill_piece(piece, set.seeds[piece]);
    poison_piece(set.run, piece);
  }
}

void EnergyCalls::poison_piece(const CandidateRun& run, std::size_t piece) const {
  for (const ReferenceData& reference : run.data().references) {
    const DType dtype = run_context_->problem.tensors[reference.tensor].dtype;
    const BufferView part =
        piece_of(run.output(reference.tensor), dtype, run.data().workload->elements(reference.tensor), piece);
    if (part.bytes == 0) continue;
    check(driver().cuMemsetD8Async(part.address, poison_byte(dtype), part.bytes, run_context_->stream),
          "poisoning a piece of an output");
  }
}

std::optional<Outcome> EnergyCalls::run_turn(bool renew) {
  if (renew) renew_pieces();
  std::shuffle(order_.begin(), order_.end(), run_context_->random);
  for (const std::size_t set : order_) {
    sets_[set].run.zero_outputs();
    if (auto failed = sets_[set].run.enqueue()) return failed;
  }
  return std::nullopt;
}

Result<std::uint64_t, Outcome> EnergyCalls::run_round() {
  const std::size_t turns =
      std::uniform_int_distribution<std::size_t>((turns_ + 1) / 2, turns_ + turns_ / 2)(run_context_->random);
  // The last turn is one of those with renewals, so that what follows it checks work that was needed.
  std::bernoulli_distribution renew(renewal_chance_);
  for (std::size_t i = 0; i < turns; ++i) {
    if (auto failed = run_turn(i + 1 == turns || renew(run_context_->random))) return *failed;
  }
  const CUresult result = driver().cuStreamSynchronize(run_context_->stream);
  if (result == CUDA_SUCCESS) return std::uint64_t{turns * sets_.size()};
  Outcome outcome = outcome_of(result, StageId::time, example().name());
  outcome.message += fmt::format(" in calls back to back on workload {}", example().data().workload->name);
  return outcome;
}

std::optional<Outcome> EnergyCalls::verify(std::vector<CheckRecord>& records) {
  for (const Set& set : sets_)
    if (auto wrong = set.run.verify_guards(StageId::recheck)) return wrong;
  std::shuffle(order_.begin(), order_.end(), run_context_->random);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    if (i >= kMinVerified && spent.count() > kVerifyMs) break;
    if (auto wrong = verify_set(sets_[order_[i]], records)) return wrong;
  }
  return std::nullopt;
}

// What the inputs should hold is drawn again, and compared with what they held.
std::optional<Outcome> EnergyCalls::verify_set(Set& set, std::vector<CheckRecord>& records) {
  if (auto changed = set.run.verify_prepared(StageId::recheck)) return changed;
  std::vector<std::uint64_t> hashes;
  for (const InputData& input : set.run.data().inputs)
    hashes.push_back(run_context_->kernels.hash(input.buffer.data()));
  set.builder->fill_weights(set.weights_seed);
  for (std::size_t piece = 0; piece < kPieces; ++piece) set.builder->fill_piece(piece, set.seeds[piece]);
  if (auto failed = store_->make_references(*set.builder)) return failed;
  if (auto wrong = set.run.verify_inputs(StageId::recheck, hashes)) return wrong;
  return compare_outputs(*run_context_, set.run, StageId::recheck, "in one of many calls back to back",
                         records);
}

}  // namespace ak::runtime

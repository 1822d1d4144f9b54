// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "runtime/check/candidate_run.h"
#include "runtime/check/data_set_builder.h"
#include "runtime/timing/kept_outputs.h"
#include "runtime/timing/reservoir.h"

namespace ak::runtime {

/// What is to be timed, on one workload.
struct TimingTarget {
  /// Binds it to a data set; called for every set. `outputs_of` is null, or a run on this set whose
  /// outputs to share.
  std::function<Result<CandidateRun, Outcome>(std::shared_ptr<const DataSet>, const CandidateRun* outputs_of)>
      bind;
  const WorkloadLayout& workload;
  MeasurementRole role = MeasurementRole::candidate;
  std::string label;  ///< of a baseline
  std::optional<double> champion_score_ns;
  std::vector<BufferView> variables = {};       ///< of its program
  std::vector<CheckRecord>* records = nullptr;  ///< where the checks of timed calls go, if anyone asks
};

/// Whether inputs that were timed once come back.
enum class Contents : std::uint8_t {
  kept,     ///< a few sets in rotation, whose references are kept
  changing  ///< drawn again for every sample: a result kept from any earlier call is wrong
};

/// Of the samples of a measurement that verify_kept() compares, at least and at most. A kernel that does not work in half
/// of its samples, which it must to move the median, is found by eight checks with 99.6 %, by two with 75 %; every
/// champion passes several measurements.
inline constexpr std::size_t kMinChecks = 2, kMaxChecks = 8;

/// What a sample is made of.
struct SampleShape {
  Contents contents = Contents::kept;
  std::size_t calls = 1;                 ///< 1, or a batch of that many distinct sets
  bool companion = false;                ///< another set, if it fits, for a call that is not timed
  std::size_t most_checks = kMaxChecks;  ///< kMinChecks at least
};

/// What a check of a timed call found, and of which kernel.
struct TimedFault {
  Outcome outcome;
  std::size_t which = 0;
};

/// The inputs of one measurement, and the kernels bound to them, each with its own workspace. A sample is next(), the
/// calls of each kernel followed by take(), and finish(). Every sample leaves its outputs and hashes behind by the same
/// work; whether it is kept is decided in finish(), and which of those that are kept are checked after the last one
/// (verify_kept): nothing before or in a sample depends on it. One thread.
class TimedInputs {
 public:
  /// @param targets one or more, of the same workload
  /// @param seed of the first of the sets that are kept; the others count up from it
  /// Errors: out_of_memory, invalid_reference, and what binding says.
  [[nodiscard]] static Result<TimedInputs, Outcome> create(RunContext& run_context, DataStore& store,
                                                           std::span<const TimingTarget* const> targets,
                                                           const SampleShape& shape, std::uint64_t seed);

  /// Draws what the next sample of all kernels is taken on, in a new order, and has each prepare its weights. Errors:
  /// whatever preparation can end in.
  [[nodiscard]] std::optional<TimedFault> next();
  /// Notes in `measurement` what preparing a set of weights takes.
  void note_preparation(std::size_t which, Measurement& measurement) const;
  /// Calls `call(run)` for every call of the present sample of kernel `which`, in order, until one fails.
  template <class Call>
  [[nodiscard]] std::optional<Outcome> for_calls(std::size_t which, Call call) const {
    for (const std::size_t set : sample_.sets) {
      if (auto failed = call(runs_[which][set])) return failed;
    }
    return std::nullopt;
  }
  /// Of one kernel in a sample, the same in all samples.
  [[nodiscard]] std::size_t calls() const { return std::min(calls_, runs_.front().size()); }
  [[nodiscard]] std::string name(std::size_t which) const { return runs_[which].front().name(); }
  /// A call of kernel `which` on other inputs than the present sample's; null where memory had no room for them.
  [[nodiscard]] const CandidateRun* companion(std::size_t which) const;
  /// After the present sample of kernel `which`: leaves its results behind. Waits.
  void take(std::size_t which);
  /// After the present sample of all kernels. @param counts false for a warm-up, which is never checked
  void finish(bool counts);
  /// After the last sample: guard bands, and inputs and results of samples left behind, picked at random: kMinChecks,
  /// and as many more (up to those of the shape) as are compared within 0.3 s.
  /// @param records one a kernel
  [[nodiscard]] std::optional<TimedFault> verify_kept(const std::string& when,
                                                      std::span<std::vector<CheckRecord>* const> records);
  /// Of the samples that counted, in run order, those that verify_kept() compared; ascending.
  [[nodiscard]] std::vector<std::size_t> checked() const;

 private:
  struct Sample {
    std::size_t index = 0;                        ///< of those that count
    std::vector<std::uint64_t> seeds;             ///< of changing contents: one a set
    std::vector<std::size_t> sets;                ///< those that were called, as they ran
    std::vector<std::size_t> order;               ///< kernels, as they ran
    std::vector<std::vector<CallHashes>> hashes;  ///< [kernel][set]
  };

  struct PlacesChoice;

  TimedInputs(RunContext& run_context, DataStore& store, const SampleShape& shape)
      : run_context_(&run_context), store_(&store), calls_(shape.calls), most_checks_(shape.most_checks) {}
  [[nodiscard]] std::optional<Outcome> add_set(std::span<const TimingTarget* const> targets,
                                               Contents contents, std::uint64_t seed);
  [[nodiscard]] std::optional<TimedFault> prepare_changed(std::size_t set);
  [[nodiscard]] std::optional<Outcome> make_places();
  /// False where it has to stay, or gives no one room.
  [[nodiscard]] bool drop_second_set();
  /// False where so many do not fit there.
  [[nodiscard]] bool try_places(const PlacesChoice& choice);
  [[nodiscard]] const WorkloadLayout& workload() const { return *runs_.front().front().data().workload; }
  [[nodiscard]] std::optional<TimedFault> verify_sample(std::size_t place, const std::string& when,
                                                        std::span<std::vector<CheckRecord>* const> records);
  [[nodiscard]] std::optional<TimedFault> verify_calls(std::size_t place, std::size_t which,
                                                       const std::string& when,
                                                       std::vector<CheckRecord>& records) const;

  RunContext* run_context_;
  DataStore* store_;
  std::size_t calls_, most_checks_;
  std::vector<std::unique_ptr<DataSetBuilder>> builders_;  ///< of changing contents: one a set
  std::vector<std::vector<CandidateRun>> runs_;            ///< [kernel][set]
  Sample sample_;                                          ///< the present one
  std::optional<KeptOutputs> outputs_;
  std::optional<Reservoir> reservoir_;
  std::vector<Sample> kept_;  ///< by place
  std::vector<std::size_t> checked_;
  std::optional<TimedFault> changed_;  ///< the first call that changed prepared memory
  HeldMemory held_;                    ///< of the reference, which computes what samples are compared with
};

}  // namespace ak::runtime

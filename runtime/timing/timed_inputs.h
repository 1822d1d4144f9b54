// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  std::vector<CheckRecord>* records = nullptr;  ///< where the checks of timed calls go, if anyone asks
};

/// Whether inputs that were timed once come back.
enum class Contents : std::uint8_t {
  repeated,  ///< one set again and again, for what caches are worth
  kept,      ///< a few sets in rotation, whose references are at hand
  changing   ///< drawn again for every sample: a result kept from any earlier call is wrong
};

/// What a check of a timed call found, and of which kernel.
struct TimedFault {
  Outcome outcome;
  std::size_t which = 0;
};

/// The inputs of one measurement, and the kernels bound to them, each with its own workspace. Which samples are
/// checked is decided after them, so that nothing before or in a sample depends on it: contents that are kept have
/// their references at hand; of changing ones all samples leave their outputs behind, and references are run when
/// all have been taken (verify_kept). One thread.
class TimedInputs {
 public:
  /// @param targets one or more, of the same workload
  /// @param calls of a sample: 1, or a batch of that many distinct sets
  /// @param seed of the first of the sets that are kept; the others count up from it
  /// Errors: out_of_memory, invalid_reference, and what binding says.
  [[nodiscard]] static Result<TimedInputs, Outcome> create(RunContext& run_context, DataStore& store,
                                                           std::span<const TimingTarget* const> targets,
                                                           Contents contents, std::size_t calls,
                                                           std::uint64_t seed);

  /// Draws what the next sample of all kernels is taken on, in a new order. @param counts false for a warm-up
  void next(bool counts);
  /// Calls `call(run)` for every call of the present sample of kernel `which`, in order, until one fails.
  template <class Call>
  [[nodiscard]] std::optional<Outcome> for_calls(std::size_t which, Call call) const {
    for (const std::size_t set : order_) {
      if (auto failed = call(runs_[which][set])) return failed;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t calls() const { return order_.size(); }
  [[nodiscard]] bool changing() const { return !builders_.empty(); }
  /// After every sample of kernel `which`, warm-ups included: enqueues what leaves it behind, of changing contents.
  void keep(std::size_t which);
  /// Of contents that are kept: results, guard bands and inputs after the present sample of kernel `which`.
  [[nodiscard]] std::optional<Outcome> verify(std::size_t which, const std::string& when,
                                              std::vector<CheckRecord>& records) const;
  /// Of changing contents, after the last sample: guard bands, and inputs and results of samples left behind, picked
  /// at random: two, and as many more (eight at most) as have their references within 0.3 s.
  /// @param records one a kernel
  [[nodiscard]] std::optional<TimedFault> verify_kept(const std::string& when,
                                                      std::span<std::vector<CheckRecord>* const> records);

 private:
  struct Sample {
    std::vector<std::uint64_t> seeds;  ///< of the sets
    std::vector<std::size_t> sets;     ///< those that were called, as they ran
    std::vector<std::size_t> order;    ///< kernels, as they ran
  };

  TimedInputs(RunContext& run_context, DataStore& store, std::size_t calls)
      : run_context_(&run_context), store_(&store), calls_(calls) {}
  [[nodiscard]] std::optional<Outcome> add_set(std::span<const TimingTarget* const> targets,
                                               Contents contents, std::uint64_t seed);
  [[nodiscard]] std::optional<Outcome> make_places();
  void refill(bool counts);
  [[nodiscard]] std::optional<TimedFault> verify_sample(std::size_t place, const std::string& when,
                                                        std::span<std::vector<CheckRecord>* const> records);
  [[nodiscard]] std::optional<Outcome> verify_calls(std::size_t place, std::size_t which,
                                                    const std::string& when,
                                                    std::vector<CheckRecord>& records) const;

  RunContext* run_context_;
  DataStore* store_;
  std::size_t calls_;
  std::vector<std::unique_ptr<DataSetBuilder>> builders_;  ///< of changing contents: one a set
  std::vector<std::vector<CandidateRun>> runs_;            ///< [kernel][set]
  std::vector<std::size_t> order_;                         ///< sets of the present sample
  std::optional<KeptOutputs> outputs_;                     ///< of changing contents, as are the following
  std::optional<Reservoir> reservoir_;
  std::vector<Sample> samples_;  ///< by place; the last is for those that are not kept
  std::size_t place_ = 0;        ///< of the present sample
};

}  // namespace ak::runtime

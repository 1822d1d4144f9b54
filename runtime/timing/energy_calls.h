// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/check/data_set_builder.h"
#include "runtime/timing/timed_inputs.h"

namespace ak::runtime {

/// Calls back to back, on sets of inputs in a random order. Before every turn through the sets, pieces of some are
/// drawn again and the same pieces of their outputs poisoned: so little that it costs next to nothing, but a call that
/// repeats what an earlier one computed is wrong. How many turns a round has is random, so that no call knows that it
/// is the last, whose results are checked. One thread.
class EnergyCalls {
 public:
  /// @param target of a problem that does not work in place
  /// @param call_ns about what a call takes
  /// Errors: out_of_memory, and what binding says.
  [[nodiscard]] static Result<EnergyCalls, Outcome> create(RunContext& run_context, DataStore& store,
                                                           const TimingTarget& target, double call_ns);

  /// Some 20 ms of calls, at least one on each set; waits. Returns how many. Errors: whatever a run can end in.
  [[nodiscard]] Result<std::uint64_t, Outcome> run_round();
  /// After the last round: guard bands, and inputs and results of the last call on each set, picked at random: two, and
  /// as many more as are compared within 0.3 s.
  [[nodiscard]] std::optional<Outcome> verify(std::vector<CheckRecord>& records);
  /// For messages.
  [[nodiscard]] const CandidateRun& example() const { return sets_.front().run; }
  [[nodiscard]] std::size_t sets() const { return sets_.size(); }

 private:
  struct Set {
    std::unique_ptr<DataSetBuilder> builder;
    std::vector<std::uint64_t> seeds;  ///< of the pieces
    std::uint64_t weights_seed = 0;
    CandidateRun run;
  };

  EnergyCalls(RunContext& run_context, DataStore& store) : run_context_(&run_context), store_(&store) {}
  [[nodiscard]] std::optional<Outcome> add_set(const TimingTarget& target);
  void choose_turns(double call_ns);
  [[nodiscard]] double renewal_ns();
  void renew_pieces();
  void poison_piece(const CandidateRun& run, std::size_t piece) const;
  [[nodiscard]] std::optional<Outcome> run_turn(bool renew);
  [[nodiscard]] std::optional<Outcome> verify_set(Set& set, std::vector<CheckRecord>& records);

  RunContext* run_context_;
  DataStore* store_;
  std::vector<Set> sets_;
  std::vector<std::size_t> order_;  ///< of the present turn
  double renewal_chance_ = 1;       ///< of a turn to begin with a new piece in every set
  std::size_t turns_ = 1;           ///< of a round, on the average
  HeldMemory held_;                 ///< of the reference
};

}  // namespace ak::runtime

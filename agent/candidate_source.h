// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evaluation.h"
#include "core/store.h"

namespace ak::agent {

/// Where a candidate came from, stored with it.
struct Origin {
  std::string proposer;        ///< a model's name
  std::string arm;             ///< the prompt that made it
  std::vector<RowId> parents;  ///< variants it was made from
  std::optional<RowId> llm_call = {};
  std::optional<Hypothesis> hypothesis = {};  ///< what the model expects of it, of the first of its parents
};

/// A candidate that joins a search while it continues.
struct Offer {
  Candidate candidate;
  Origin origin;
  std::string
      input_error;  ///< why it is not a candidate; empty: it is one. It is committed then, not evaluated
};

/// Writes candidates alongside the search: a language model. Called by the loop's thread; its own work continues
/// elsewhere, and no call but wait() and stop() blocks.
class CandidateSource {
 public:
  virtual ~CandidateSource() = default;
  /// Once, before everything else. `store` outlives stop().
  virtual void begin(RowId search, VariantStore& store) = 0;
  /// The next candidate that is ready.
  /// @param busy evaluations are in progress: the first of them may be waited for
  /// @param room evaluations that the search may still begin; no candidate is worth asking for that finds none
  [[nodiscard]] virtual std::optional<Offer> poll(bool busy, std::int64_t room) = 0;
  /// Every evaluation of the search that was committed, and offers that were not accepted.
  virtual void tell(const Completed& completed, RowId variant) = 0;
  /// More may come: from what is in progress, or from the results that it will receive.
  [[nodiscard]] virtual bool working() const = 0;
  /// Nothing is in progress for a while: its share of the evaluations is the search's meanwhile.
  [[nodiscard]] virtual bool resting() const { return false; }
  /// An answer is awaited.
  [[nodiscard]] virtual bool thinking() const { return false; }
  /// What was offered has to be evaluated before an answer comes: who answers waits for it.
  [[nodiscard]] virtual bool awaits_results() const { return false; }
  /// Until something may be ready, no longer than `most`.
  virtual void wait(std::chrono::milliseconds most) = 0;
  /// Only answers that may take days are awaited, and they were waited for long enough: the search is to end here, and
  /// to go on in another process.
  [[nodiscard]] virtual bool is_suspended() const { return false; }
  /// Ends what is in progress. @param why the search has ended
  virtual void stop(std::string_view why) = 0;
  /// The same where another process goes on with the search: what can be taken up there is left as it is.
  virtual void suspend() = 0;

  [[nodiscard]] virtual std::int64_t tokens() const = 0;
  [[nodiscard]] virtual double cost_usd() const = 0;
  /// Questions asked so far.
  [[nodiscard]] virtual int calls() const { return 0; }
  /// False: something was used whose price is not known, so cost_usd() is not all.
  [[nodiscard]] virtual bool price_known() const { return true; }
  /// It has ended without a single answer.
  [[nodiscard]] virtual bool never_answered() const { return false; }
  /// Why no more candidates come, in words; empty while they do.
  [[nodiscard]] virtual std::string end_reason() const = 0;
};

}  // namespace ak::agent

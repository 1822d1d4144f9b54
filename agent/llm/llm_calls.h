// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "agent/llm/llm_proposer_options.h"
#include "agent/llm/llm_spending.h"
#include "agent/llm/model_pool.h"
#include "agent/llm/question.h"
#include "core/store.h"

namespace ak::agent {

/// A question that was sent.
struct LlmCall {
  std::size_t model = 0;
  int number = 0;          ///< in the search, from 1
  RowId row = 0;           ///< in the store
  QuestionName name = {};  ///< where the client takes facts
  std::chrono::steady_clock::time_point sent;
  LlmSpending::Reservation reservation = 0;
  std::future<LlmReply> reply;  ///< valid while it is in flight

  [[nodiscard]] bool in_flight() const { return reply.valid(); }
  [[nodiscard]] bool answered() const {
    return in_flight() && reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
};

/// Sends questions to models, each on its own thread. Every question is committed before it is sent, every
/// answer before anyone reads it. Called by one thread.
class LlmCalls {
 public:
  /// All must outlive it, and it must outlive the calls.
  LlmCalls(const LlmProposerOptions& options, ModelPool& models, LlmSpending& spending)
      : options_(options), models_(models), spending_(spending) {}

  /// Once, before the first question. `store` outlives the last answer.
  void begin(RowId search, VariantStore& store);
  /// The number of the next question.
  [[nodiscard]] int next_number() const { return asked_ + 1; }

  /// Nothing when it cannot be afforded; it is not sent then.
  /// @param credited_arm the arm that the whole exchange began with
  /// @param bottleneck of the parent, by name
  [[nodiscard]] std::optional<LlmCall> send(Question& question, std::size_t model,
                                            const std::string& credited_arm, const std::string& bottleneck);
  /// Waits for the answer, commits it and counts what it used.
  [[nodiscard]] LlmReply receive(LlmCall& call);
  /// The same when another process is to go on: a question that its client keeps is left as one that was sent.
  void leave(LlmCall& call);
  /// Nobody waits for the answer any more.
  void withdraw(const LlmCall& call, std::string_view why);
  /// The search has ended, and no question of it is of use.
  void withdraw_all(std::string_view why);
  /// Asks the models to end what is in flight; it still has to be received.
  void cancel() { cancelled_ = true; }

 private:
  [[nodiscard]] LlmReply end(LlmCall& call, bool stays);

  const LlmProposerOptions& options_;
  ModelPool& models_;
  LlmSpending& spending_;
  RowId search_ = 0;
  VariantStore* store_ = nullptr;
  std::atomic<bool> cancelled_{false};
  int asked_ = 0;
  std::string search_name_;  ///< of questions that are kept; empty: none was
};

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/candidate_source.h"
#include "agent/llm/archive.h"
#include "agent/llm/bandit.h"
#include "agent/llm/llm_calls.h"
#include "agent/llm/llm_proposer_options.h"
#include "agent/llm/llm_spending.h"
#include "agent/llm/model_pool.h"
#include "agent/llm/question.h"
#include "agent/llm/question_choice.h"

namespace ak::agent {

/// Asks language models for candidates, in exchanges: it chooses who is asked for what (question_choice.h),
/// shows parents, what came of them and what was tried (question.h), reads the answer, asks again when it
/// cannot be read, waits until its candidates were evaluated, and has them repaired when none passed.
class LlmProposer final : public CandidateSource {
 public:
  explicit LlmProposer(LlmProposerOptions options);
  ~LlmProposer() override;

  void begin(RowId search, VariantStore& store) override;
  [[nodiscard]] std::optional<Offer> poll(bool busy, std::int64_t room) override;
  void tell(const Completed& completed, RowId variant) override;
  [[nodiscard]] bool working() const override;
  [[nodiscard]] bool resting() const override;
  [[nodiscard]] bool thinking() const override;
  [[nodiscard]] bool awaits_results() const override;
  void wait(std::chrono::milliseconds most) override;
  [[nodiscard]] bool is_suspended() const override { return suspended_; }
  void stop(std::string_view why) override;
  void suspend() override;
  [[nodiscard]] std::int64_t tokens() const override { return spending_.tokens(); }
  [[nodiscard]] double cost_usd() const override { return spending_.cost_usd(); }
  [[nodiscard]] int calls() const override { return calls_.next_number() - 1; }
  [[nodiscard]] bool price_known() const override { return spending_.price_known(); }
  [[nodiscard]] bool never_answered() const override { return !models_.end_reason().empty() && !answered_; }
  [[nodiscard]] std::string end_reason() const override { return end_reason_; }

 private:
  /// From the first question to the verdict on its last candidate.
  struct Exchange {
    std::size_t model = 0;
    std::string credited;  ///< the bandit's arm: "MODEL ARM"
    int island = 0;
    Question question;                         ///< the last one
    LlmCall call;                              ///< of the last one
    std::multiset<std::string> awaited;        ///< variant hashes of offers whose results are not known yet
    std::map<std::string, Hypothesis> stated;  ///< by variant hash
    /// Kernels that a coding agent has evaluated before it answers, by variant hash: who waits for their results, and
    /// those that are known.
    std::map<std::string, std::vector<std::uint64_t>> tried;
    std::map<std::string, Attempt> measured;
    std::optional<RowId> first_call;
    std::optional<Attempt> last_failed;
    bool passed = false;  ///< one of the candidates did
    int repairs = 0;
    bool to_repair = false;    ///< none of them did, and the model is to be told so
    bool overtakable = false;  ///< the last question's parent was near the best when it was asked
    bool withdrawn = false;    ///< that question was overtaken
    double reward = 0, cost = 0;
  };
  using Exchanges = std::vector<std::unique_ptr<Exchange>>;

  [[nodiscard]] bool has_room(std::size_t model) const;
  void begin_exchange();
  void send_repairs();
  [[nodiscard]] bool send(Exchange& exchange, Question question);
  [[nodiscard]] bool is_due(const Exchange& exchange) const;
  void receive(Exchange& exchange);
  void read(Exchange& exchange, const LlmReply& reply);
  void offer(Exchange& exchange, Candidate candidate, std::string input_error,
             std::optional<Hypothesis> hypothesis = {});
  [[nodiscard]] Offer offer_of(const Exchange& exchange, Candidate candidate) const;
  void take_trials(Exchange& exchange);
  void try_out(Exchange& exchange, const LlmTrial& trial);
  void tell_trials(Exchange& exchange, const Attempt& attempt);
  [[nodiscard]] bool take_tried(Exchange& exchange, const Candidate& candidate);
  [[nodiscard]] Exchange* awaiting(const std::string& hash) const;
  [[nodiscard]] Exchange* trying(const std::string& hash) const;
  [[nodiscard]] Attempt attempt_of(const Completed& completed, RowId variant, const Exchange* exchange) const;
  void settle(Exchange& exchange);
  void end(const Exchange& exchange);
  void withdraw_overtaken();
  void note_wait();
  void end_wait();
  void clear();
  void remove(const Exchange& exchange);

  LlmProposerOptions options_;
  VariantStore* store_ = nullptr;
  Archive archive_;
  Bandit bandit_;
  ModelPool models_;
  LlmSpending spending_;
  QuestionChoice choice_;
  QuestionWriter writer_;
  LlmCalls calls_;
  Exchanges exchanges_;
  std::deque<Offer> offers_;
  std::map<std::string, std::string> credited_;  ///< source of a model's candidate -> the bandit's arm
  std::optional<double> best_ns_;
  int told_ = 0;
  std::int64_t room_ = 0;  ///< as poll() was told
  bool answered_ = false;  ///< once, by any model
  bool suspended_ = false;
  std::optional<std::chrono::steady_clock::time_point>
      waits_since_;  ///< for nothing but answers that are kept
  std::string end_reason_;
};

}  // namespace ak::agent

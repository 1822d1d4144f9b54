// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/candidate_source.h"
#include "agent/llm/api/provider.h"
#include "agent/llm/archive.h"
#include "agent/llm/bandit.h"
#include "agent/llm/prompt_parts.h"
#include "agent/loop.h"

namespace ak::agent {

/// When a model that cannot be reached for now is asked again, after the retries of each request. Chosen: an
/// outage of minutes costs few requests, one of hours is over soon after it ends.
struct LlmOutageRule {
  std::chrono::milliseconds first{30'000};         ///< pause after the first failure; it doubles
  std::chrono::milliseconds longest{600'000};      ///< ... up to this
  std::chrono::milliseconds most{12 * 3'600'000};  ///< without an answer: the model is given up
};

struct LlmProposerOptions {
  /// Who may be asked, each by one request at a time: a model that may be asked several at once stands here
  /// several times, with a client each.
  std::vector<LlmModel> models;
  std::size_t parallel = 1;  ///< questions in flight at once, those whose candidates await a verdict included
  std::size_t max_candidates = 3;  ///< of an answer, where several are asked for
  bool ask_points = false;         ///< ask for points of the templates, too: where tunables are searched
  std::optional<LlmOutageRule> outage = {};  ///< nothing: five failures in a row end a model for the run
  PromptSet prompts;
  PromptSubject subject;
  Budgets budgets;  ///< only tokens and money are looked at
  std::uint64_t seed = 0;
  int max_output_tokens = 16'000;  ///< of an answer, thinking included
  std::string effort;
};

/// Asks language models for candidates: it chooses by a bandit who is asked for what, shows parents, what
/// came of them and what was tried; reads the answer, asks again when it cannot be read, waits until its
/// candidates were evaluated, and has them repaired when none passed. Every request is committed before it is
/// sent, every answer before it is read.
class LlmProposer final : public CandidateSource {
 public:
  explicit LlmProposer(LlmProposerOptions options);
  ~LlmProposer() override;

  void begin(RowId session, VariantStore& store) override;
  [[nodiscard]] std::optional<Offer> poll(bool busy) override;
  void tell(const Completed& completed, RowId variant) override;
  [[nodiscard]] bool working() const override;
  [[nodiscard]] bool resting() const override;
  [[nodiscard]] bool thinking() const override;
  void wait(std::chrono::milliseconds most) override;
  void stop() override;
  [[nodiscard]] std::int64_t tokens() const override { return tokens_; }
  [[nodiscard]] double cost_usd() const override { return cost_usd_; }
  [[nodiscard]] std::string end_reason() const override { return end_reason_; }

 private:
  /// One of options_.models.
  struct ModelState {
    bool busy = false;
    int failures_in_a_row = 0;
    int useless_in_a_row = 0;  ///< exchanges without a candidate
    std::string end_reason;    ///< why it is no longer asked; empty while it is
    std::optional<std::chrono::steady_clock::time_point> out_since;  ///< set during an outage
    std::chrono::steady_clock::time_point paused_until;
    std::chrono::milliseconds pause{};  ///< the last one
  };
  /// A question that was sent, and what it was about.
  struct Question {
    LlmRequest request;
    std::string arm;
    Attempt parent;
    std::optional<RowId> second;  ///< variant of the other parent
    std::size_t most = 1;         ///< candidates that are taken of the answer
    bool is_repeat = false;       ///< after an answer that could not be read
    int number = 0;
    RowId call = 0;
    std::chrono::steady_clock::time_point sent;
  };
  /// From the first question to the verdict on the last candidate that came of it.
  struct Job {
    std::size_t model = 0;
    std::string credited;  ///< the bandit's arm
    int island = 0;
    Question question;
    std::future<LlmReply> reply;         ///< valid while the question is in progress
    std::multiset<std::string> awaited;  ///< variant hashes of offers that were not told yet
    std::optional<RowId> first_call;
    std::optional<Attempt> last_failed;
    bool passed = false;  ///< one of the candidates did
    int repairs = 0;
    std::int64_t reserved_tokens = 0;
    double reserved_usd = 0, reward = 0, cost = 0;
  };

  struct Plan {
    std::size_t model = 0;
    std::string credited;
    Choice choice;
  };
  void begin_job();
  [[nodiscard]] std::optional<Plan> choose();
  [[nodiscard]] const Attempt* unexplored() const;
  [[nodiscard]] Question question_about(const Choice& choice, std::size_t model);
  [[nodiscard]] std::string bottleneck_of(const Attempt& parent) const;
  [[nodiscard]] std::string remembered(const Choice& choice) const;
  [[nodiscard]] bool send(Job& job, Question question);
  [[nodiscard]] bool afford(Job& job, LlmRequest& request);
  void receive(Job& job);
  void read(Job& job, const LlmReply& reply);
  void note_failure(std::size_t model, const LlmFailure& failure);
  void rest(ModelState& model, const std::string& name, const LlmFailure& failure);
  void give_up(const std::string& name, const std::string& why);
  [[nodiscard]] bool ask_again(Job& job, const LlmReply& reply, const std::string& input_error);
  void offer(Job& job, Candidate candidate, std::string input_error);
  void account(Job& job, const LlmReply& reply);
  void settle(Job& job);
  void end(const Job& job);
  [[nodiscard]] double reward_of(const Attempt& attempt) const;

  LlmProposerOptions options_;
  std::string system_;
  RowId session_ = 0;
  VariantStore* store_ = nullptr;
  Archive archive_;
  Bandit bandit_;
  std::vector<ModelState> model_states_;  ///< beside options_.models
  std::vector<std::unique_ptr<Job>> jobs_;
  std::deque<Offer> offers_;
  std::set<std::string> points_asked_;           ///< sources whose points were asked for
  std::map<std::string, std::string> credited_;  ///< source of a model's candidate -> the bandit's arm
  std::atomic<bool> cancelled_{false};
  std::optional<double> best_ns_;
  std::int64_t tokens_ = 0;
  double cost_usd_ = 0;
  int told_ = 0, asked_ = 0;
  std::string end_reason_;
};

}  // namespace ak::agent

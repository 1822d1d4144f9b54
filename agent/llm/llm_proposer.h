// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/candidate_source.h"
#include "agent/llm/archive.h"
#include "agent/llm/prompt_parts.h"
#include "agent/llm/provider.h"
#include "agent/loop.h"

namespace ak::agent {

struct LlmProposerOptions {
  LlmModel model;
  PromptSet prompts;
  PromptSubject subject;
  Budgets budgets;  ///< only tokens and money are looked at
  std::uint64_t seed = 0;
  int max_output_tokens = 16'000;  ///< of an answer, thinking included
  std::string effort;
};

/// Asks a language model for candidates, one request at a time: it shows a parent, what came of it and what
/// was tried; reads the answer, asks once more when it cannot be read, and waits until the candidate was
/// evaluated. Every request is committed before it is sent, every answer before it is read.
class LlmProposer final : public CandidateSource {
 public:
  explicit LlmProposer(LlmProposerOptions options);
  ~LlmProposer() override;

  void begin(RowId session, VariantStore& store) override;
  [[nodiscard]] std::optional<Offer> poll(bool busy) override;
  void tell(const Completed& completed, RowId variant) override;
  [[nodiscard]] bool working() const override;
  void wait(std::chrono::milliseconds most) override;
  void stop() override;
  [[nodiscard]] std::int64_t tokens() const override { return tokens_; }
  [[nodiscard]] double cost_usd() const override { return cost_usd_; }
  [[nodiscard]] std::string end_reason() const override { return end_reason_; }

 private:
  /// A question that was sent, and what it was about.
  struct Question {
    LlmRequest request;
    std::string arm;
    Attempt parent;
    bool is_repair = false;  ///< of an answer that could not be read
    RowId call = 0;
    std::chrono::steady_clock::time_point sent;
  };

  void ask_next();
  void send(Question question);
  [[nodiscard]] bool afford(LlmRequest& request);
  [[nodiscard]] std::string user_prompt(const Choice& choice);
  [[nodiscard]] std::string history() const;
  [[nodiscard]] std::optional<Offer> receive(LlmReply reply);
  [[nodiscard]] std::optional<Offer> read(const LlmReply& reply);
  void note_failure(const LlmFailure& failure);
  [[nodiscard]] bool ask_again(const LlmReply& reply, const std::string& complaint);
  [[nodiscard]] Offer offer(Candidate candidate, std::string complaint);

  LlmProposerOptions options_;
  std::string system_;
  RowId session_ = 0;
  VariantStore* store_ = nullptr;
  Archive archive_;
  std::optional<Question> question_;
  std::future<LlmReply> reply_;
  std::atomic<bool> cancelled_{false};
  std::set<std::string> awaited_;  ///< variant hashes of offers that were not told yet
  std::int64_t tokens_ = 0;
  double cost_usd_ = 0;
  int told_ = 0, asked_ = 0, failures_in_a_row_ = 0;
  std::string end_reason_;
};

}  // namespace ak::agent

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/llm.h"
#include "core/text/json.h"

namespace ak::agent {

[[nodiscard]] Json to_json(const LlmRequest& request);
[[nodiscard]] Json to_json(const LlmReply& reply);

/// Answers with recorded replies, in their order, whatever is asked; then fails as `exhausted`. The file has
/// a JSON object a line: {"reply": {"text": ...}}, as RecordingClient writes them.
class ReplayClient final : public LlmClient {
 public:
  /// Throws Error(bad_input) naming the line.
  explicit ReplayClient(const std::filesystem::path& file);
  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;
  void pass_over(const LlmReply& known) override;

 private:
  std::vector<LlmReply> replies_;
  std::size_t next_ = 0;
};

/// Appends every exchange with another client to a file that can be replayed.
class RecordingClient final : public LlmClient {
 public:
  /// Throws Error(output) when the file cannot be written.
  RecordingClient(std::shared_ptr<LlmClient> client, std::filesystem::path file);
  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;
  void pass_over(const LlmReply& known) override { client_->pass_over(known); }
  [[nodiscard]] bool keeps_questions() const override { return client_->keeps_questions(); }
  [[nodiscard]] bool is_waiting() const override { return client_->is_waiting(); }
  [[nodiscard]] bool takes_facts() const override { return client_->takes_facts(); }
  [[nodiscard]] std::optional<LlmTrial> take_trial() override { return client_->take_trial(); }
  void answer_trial(std::uint64_t ticket, Json result) override {
    client_->answer_trial(ticket, std::move(result));
  }
  void withdraw(const QuestionName& name, std::string_view why) override { client_->withdraw(name, why); }

 private:
  std::shared_ptr<LlmClient> client_;
  std::filesystem::path file_;
};

}  // namespace ak::agent

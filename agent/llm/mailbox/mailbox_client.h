// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "agent/llm/api/model_catalog.h"
#include "agent/llm/mailbox/mailbox.h"
#include "core/llm.h"

namespace ak::agent {

/// How often answers are looked for.
struct MailTiming {
  std::chrono::milliseconds poll{200};
  /// A file that did not change for so long is not being written. Chosen: longer than a program pauses between two
  /// writes of a text; what is renamed into place is whole anyway.
  std::chrono::milliseconds settle{1'000};
};

/// Asks whoever looks into a folder: the question becomes a file there, and the answer is a file put beside it, in
/// minutes or days. Questions stay where they are when the process ends; the next one that asks the same gets the
/// answer. Tokens are estimated, and cost what the entry of the model says.
class MailboxClient final : public LlmClient {
 public:
  explicit MailboxClient(std::filesystem::path folder, ModelEntry model = {}, MailTiming timing = {})
      : mailbox_(std::move(folder)), model_(std::move(model)), timing_(timing) {}

  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;
  [[nodiscard]] bool keeps_questions() const override { return true; }
  [[nodiscard]] bool is_waiting() const override { return waiting_; }
  void withdraw(const QuestionName& name, std::string_view why) override;

 private:
  [[nodiscard]] LlmReply await(const MailQuestion& question, const std::atomic<bool>* cancelled);
  [[nodiscard]] LlmReply take(const MailQuestion& question, const AnswerLook& answer) const;

  Mailbox mailbox_;
  ModelEntry model_;
  MailTiming timing_;
  std::atomic<bool> waiting_{false};
};

/// "mailbox": the provider's name.
inline constexpr std::string_view kMailboxProvider = "mailbox";

/// The folder of a model called "mailbox:FOLDER", without a stroke at its end; empty for any other.
[[nodiscard]] std::filesystem::path mailbox_folder(std::string_view model);

/// The text of NNNN.question.md: all that who answers has to know. Keys are redacted.
[[nodiscard]] std::string question_text(const MailQuestion& question, const LlmRequest& request);

}  // namespace ak::agent

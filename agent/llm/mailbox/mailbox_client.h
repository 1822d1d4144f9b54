// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/llm/api/model_catalog.h"
#include "agent/llm/mailbox/mailbox.h"
#include "core/llm.h"

namespace ak::agent {

/// How often answers are looked for.
struct MailTiming {
  std::chrono::milliseconds poll{200};
  /// Between two attempts to write into a folder that refused it. Chosen: one reads the whole folder.
  std::chrono::milliseconds again{5'000};
  /// A file that did not change for so long is not being written. Chosen: longer than a program pauses between two
  /// writes of a text; what is renamed into place is whole anyway.
  std::chrono::milliseconds settle{1'000};
};

/// Asks whoever looks into a folder: the question becomes a file there, and the answer is a file put beside it, in
/// minutes or days. Questions stay where they are when the process ends; the next one that asks the same gets the
/// answer. Tokens are estimated, and cost what the entry of the model says. A folder that cannot be written for a while
/// (a full disk, a share that is away) is waited for as answers are: that is no failure of who answers.
class MailboxClient final : public LlmClient {
 public:
  explicit MailboxClient(std::filesystem::path folder, ModelEntry model = {}, MailTiming timing = {})
      : mailbox_(std::move(folder)), model_(std::move(model)), timing_(timing) {}
  MailboxClient(const MailboxClient&) = delete;
  MailboxClient& operator=(const MailboxClient&) = delete;
  ~MailboxClient() override { mark_taken(); }

  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;
  [[nodiscard]] bool keeps_questions() const override { return true; }
  [[nodiscard]] bool is_waiting() const override { return waiting_; }
  void withdraw(const QuestionName& name, std::string_view why) override;
  void pass_over(const LlmReply& known) override;

 private:
  /// An answer that was taken, which its question does not say yet.
  struct Taken {
    MailQuestion question;
    AnswerLook answer;
  };
  [[nodiscard]] std::optional<MailQuestion> post(const LlmRequest& request,
                                                 const std::atomic<bool>* cancelled);
  [[nodiscard]] LlmReply await(const MailQuestion& question, const std::atomic<bool>* cancelled);
  [[nodiscard]] LlmReply take(const MailQuestion& question, const AnswerLook& answer);
  void mark_taken();
  [[nodiscard]] bool was_taken(const MailQuestion& question) const;

  Mailbox mailbox_;
  ModelEntry model_;
  MailTiming timing_;
  std::atomic<bool> waiting_{false};
  mutable std::mutex mutex_;  ///< of `taken_`
  std::vector<Taken> taken_;
};

/// "mailbox": the provider's name.
inline constexpr std::string_view kMailboxProvider = "mailbox";

/// The folder of a model called "mailbox:FOLDER", without a stroke at its end; empty for any other.
[[nodiscard]] std::filesystem::path mailbox_folder(std::string_view model);

/// Instructions and question as one text for people and agents to read. Keys are redacted.
[[nodiscard]] std::string request_text(const LlmRequest& request);

/// The text of NNNN.question.md: all that who answers has to know. Keys are redacted.
[[nodiscard]] std::string question_text(const MailQuestion& question, const LlmRequest& request);

}  // namespace ak::agent

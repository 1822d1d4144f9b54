// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/question.h"

#include <utility>

#include "agent/llm/api/redact.h"
#include "agent/llm/quoting.h"
#include "agent/llm/user_prompt.h"

namespace ak::agent {
namespace {

constexpr std::int64_t kAnswerTokens = 12'000;  // of an unreadable answer, when it is sent back
constexpr std::size_t kMaxPoints = 8;           // of an answer

}  // namespace

QuestionWriter::QuestionWriter(const LlmProposerOptions& options, const Archive& archive)
    : options_(options),
      archive_(archive),
      system_(system_prompt(options.prompts, options.subject,
                            fence_for(options.seed, 0, options.subject.lessons))) {}

Question QuestionWriter::about(const Choice& choice, const LlmModel& model, int number) const {
  const bool several = choice.arm == "explore";
  Question question{.request = {.model = model.entry.name,
                                .system = system_,
                                .messages = {},
                                .max_output_tokens = options_.max_output_tokens,
                                .effort = options_.effort},
                    .arm = choice.arm,
                    .parent = choice.parent ? *choice.parent : Attempt{},
                    .second = choice.second ? std::optional(choice.second->variant) : std::nullopt,
                    .max_candidates = several ? options_.max_candidates : 1,
                    .is_repeat = false};
  if (question.asks_points()) question.max_candidates = kMaxPoints;
  question.request.messages = {
      {"user", user_prompt(options_.prompts, archive_, choice, question.max_candidates, remembered(choice),
                           options_.seed, number)}};
  return question;
}

Question QuestionWriter::repeated(const Question& question, const std::string& answer,
                                  const std::string& error) const {
  Question again = question;
  again.is_repeat = true;
  again.request.messages.push_back({"assistant", fitted(clean_text(answer), kAnswerTokens)});
  again.request.messages.push_back(
      {"user", options_.prompts.fill("unreadable", {{"error", clean_text(error)}})});
  again.request.max_output_tokens = options_.max_output_tokens;
  return again;
}

std::string QuestionWriter::bottleneck_of(const Attempt& parent) const {
  if (!parent.bottleneck.empty()) return parent.bottleneck;
  const KnownLimits* known = archive_.limits(parent.candidate.source);
  return known ? known->bottleneck : "";
}

/// What earlier searches tried against the parent's bottleneck.
std::string QuestionWriter::remembered(const Choice& choice) const {
  if (choice.parent == nullptr || !options_.subject.remembered) return "";
  const std::string bottleneck = bottleneck_of(*choice.parent);
  return bottleneck.empty() ? "" : options_.subject.remembered(bottleneck);
}

}  // namespace ak::agent

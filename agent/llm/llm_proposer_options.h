// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/api/provider.h"
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
  /// Who may be asked, each by one request at a time: a model that may be asked several at once is here
  /// several times, with a client each.
  std::vector<LlmModel> models;
  std::size_t parallel = 1;  ///< questions in flight at once, those whose candidates await a verdict included
  std::size_t max_candidates = 3;  ///< of an answer, where several are asked for
  bool ask_points = false;         ///< ask for points of the templates, too: where tunables are searched
  /// So long a search that has nothing else to do waits for answers to questions that outlive it, and is then suspended;
  /// nothing: for ever.
  std::optional<std::chrono::milliseconds> mailbox_wait = {};
  std::optional<LlmOutageRule> outage = {};  ///< nothing: five failures in a row end a model for the run
  PromptSet prompts;
  PromptSubject subject;
  Budgets budgets;       ///< only tokens and money are looked at
  double spent_usd = 0;  ///< of these, before the first question
  std::uint64_t seed = 0;
  int max_output_tokens = 16'000;  ///< of an answer, thinking included
  std::string effort;
};

}  // namespace ak::agent

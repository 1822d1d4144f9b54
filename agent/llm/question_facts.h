// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/llm/llm_proposer_options.h"
#include "agent/llm/llm_spending.h"
#include "agent/llm/question.h"

namespace ak::agent {

/// What who answers a question outside of an API has to know besides its text, to try an answer before it is given:
/// its name, what it may cost, the problem with its shapes and target, and the whole parent. docs/mailbox.md names the
/// fields. @param number of the question in its search
[[nodiscard]] Json question_facts(const LlmProposerOptions& options, const LlmSpending& spending,
                                  const Question& question, const std::string& model,
                                  const QuestionName& name, int number);

}  // namespace ak::agent

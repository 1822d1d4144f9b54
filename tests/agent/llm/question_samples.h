// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/llm/archive.h"
#include "agent/llm/llm_proposer_options.h"
#include "tests/agent/virtual_world.h"

namespace ak::agent::test {

/// Options with these models, which nobody asks.
[[nodiscard]] inline LlmProposerOptions options_with(const std::vector<std::string>& models) {
  LlmProposerOptions options{.models = {},
                             .prompts = PromptSet::with_folder(""),
                             .subject = {.problem = make_problem(), .device = {}, .arch = {}},
                             .budgets = {},
                             .max_output_tokens = 2'000,
                             .effort = {}};
  for (const std::string& name : models)
    options.models.push_back({.name = name, .entry = {.provider = "test", .name = name}, .client = nullptr});
  return options;
}

/// A kernel that passed, whose source is its name.
[[nodiscard]] inline Attempt passed_attempt(const std::string& source, double score_ns,
                                            std::int64_t points = 1) {
  Attempt attempt;
  attempt.variant = 1'000;
  attempt.candidate = grid_template(source, points, 1);
  attempt.candidate.source = source;
  attempt.candidate.plan.launches.resize(1);
  attempt.passed = true;
  attempt.score_ns = score_ns;
  attempt.outcome = "what came of " + source;
  attempt.line = "fine";
  return attempt;
}

}  // namespace ak::agent::test

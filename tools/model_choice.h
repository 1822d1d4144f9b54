// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/candidate_source.h"
#include "agent/llm/provider.h"
#include "tools/config.h"

namespace ak::tools {

/// Who proposes: "search", "llm" or "hybrid", and the model for the last two.
struct ProposerChoice {
  std::string proposer;
  std::optional<agent::LlmModel> model;
};

/// What the flags and the configuration come to: "auto" is hybrid where a model is named, else search. A
/// model named by flag and a search are a contradiction.
/// @param record_to every exchange is appended to this file; empty: none is
/// Throws Error(usage) also when money is limited and the model has no price; else as agent::open_model().
[[nodiscard]] ProposerChoice choose_proposer(const std::string& proposer, const std::string& model,
                                             const std::string& record_to, const agent::Budgets& budgets,
                                             const Config& config);

/// Candidates by a model for a run with these options on this device.
[[nodiscard]] std::unique_ptr<agent::CandidateSource> make_proposer(const agent::LlmModel& model,
                                                                    const agent::LoopOptions& options,
                                                                    const DeviceFacts& device,
                                                                    const Config& config);

}  // namespace ak::tools

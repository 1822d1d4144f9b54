// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/candidate_source.h"
#include "agent/llm/api/provider.h"
#include "app/setup/config.h"
#include "app/setup/target.h"

namespace ak::app {

/// The limits of the configuration, and what coding agents need for a search on this target.
[[nodiscard]] agent::CodingAgentSettings coding_agents(const Config& config,
                                                       const std::filesystem::path& database,
                                                       const Target& target);

/// A model that its provider says cannot be asked.
struct ModelFault {
  std::string model, remedy;
  LlmFailure failure;
};

/// Who proposes: "search", "llm" or "hybrid", and the models for the last two.
struct ProposerChoice {
  std::string proposer;
  std::vector<agent::LlmModel> models;  ///< each as often as it may be asked at once
  std::vector<ModelFault> faults = {};  ///< of those among them that cannot be asked
};

/// The result of the flags and the configuration: "auto" is hybrid where a model is named, else search. Models
/// named by flag and a search are a contradiction. Every model's provider is asked about it once, for seconds at most.
/// @param record_to every exchange is appended to this file; empty: none is
/// Throws Error(usage) also when money is limited and a model has no price; else as agent::open_model().
[[nodiscard]] ProposerChoice choose_proposer(const std::string& proposer,
                                             const std::vector<std::string>& models,
                                             const std::string& record_to, const agent::Budgets& budgets,
                                             const Config& config);

/// "anthropic:a, local:http://...#b": every model once.
[[nodiscard]] std::string model_names(std::span<const agent::LlmModel> models);

/// What earlier searches know that may help: see agent::PromptSubject.
struct Memory {
  std::string lessons;
  std::function<std::string(const std::string& bottleneck)> remembered;
};

/// How long models are waited for.
struct ModelPatience {
  bool outages_pass = false;  ///< an outage that may pass does not end a model for the run
  std::optional<std::chrono::milliseconds> mailbox_wait = {};  ///< agent::LlmProposerOptions::mailbox_wait
};

/// Candidates by models for a run with these options on this device.
/// @param spent_usd by an earlier process of the run, on questions that are asked again
[[nodiscard]] std::unique_ptr<agent::CandidateSource> make_proposer(
    std::vector<agent::LlmModel> models, const agent::LoopOptions& options, const DeviceFacts& device,
    const Config& config, Memory memory, const ModelPatience& patience, double spent_usd = 0);

}  // namespace ak::app

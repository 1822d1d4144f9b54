// SPDX-License-Identifier: Apache-2.0
#include "tools/model_choice.h"

#include "agent/llm/llm_proposer.h"
#include "agent/seeds.h"
#include "core/error.h"

namespace ak::tools {
namespace {

constexpr std::uint64_t kModelStream = 2;  // of a run's seed; inputs and held-out shapes have 0 and 1

}  // namespace

ProposerChoice choose_proposer(const std::string& proposer, const std::string& model,
                               const std::string& record_to, const agent::Budgets& budgets,
                               const Config& config) {
  const std::string name = model.empty() ? config.model : model;
  ProposerChoice choice{.proposer = proposer, .model = {}};
  if (proposer == "auto") choice.proposer = name.empty() ? "search" : "hybrid";
  if (choice.proposer != "search" && choice.proposer != "llm" && choice.proposer != "hybrid")
    fail(ExitCode::usage, "proposer '{}' is not known; expected auto, search, llm or hybrid", proposer);
  if (choice.proposer == "search") {
    if (!model.empty())
      fail(ExitCode::usage, "a search asks no model: leave --model or --proposer search out");
    return choice;
  }
  if (name.empty()) {
    fail(ExitCode::usage, "--proposer {} needs a language model: --model PROVIDER:MODEL (docs/providers.md)",
         choice.proposer);
  }
  agent::LlmSettings settings = config.llm;
  settings.record_to = record_to;
  choice.model = agent::open_model(name, settings);
  if (budgets.max_cost_usd && !choice.model->entry.price) {
    fail(ExitCode::usage,
         "model '{}' has no price entry, so --max-cost-usd cannot be kept; give it one in {} "
         "(docs/providers.md)",
         name, settings.models_file.string());
  }
  return choice;
}

std::unique_ptr<agent::CandidateSource> make_proposer(const agent::LlmModel& model,
                                                      const agent::LoopOptions& options,
                                                      const DeviceFacts& device, const Config& config) {
  const std::filesystem::path settings = config_path();
  return std::make_unique<agent::LlmProposer>(agent::LlmProposerOptions{
      .model = model,
      .prompts =
          agent::PromptSet::with_folder(settings.empty() ? settings : settings.parent_path() / "prompts"),
      .subject = {.problem = options.problem, .device = device, .arch = options.arch},
      .budgets = options.budgets,
      .seed = agent::derive_seed(options.seed, kModelStream),
      .max_output_tokens = config.llm_answer_tokens,
      .effort = config.llm_effort});
}

}  // namespace ak::tools

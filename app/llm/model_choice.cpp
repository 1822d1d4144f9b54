// SPDX-License-Identifier: Apache-2.0
#include "app/llm/model_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "agent/llm/api/model_info_client.h"
#include "agent/llm/coding_agent/agent_program.h"
#include "agent/llm/llm_proposer.h"
#include "agent/seeds.h"
#include "app/llm/diagnosis.h"
#include "app/setup/program_paths.h"
#include "candidate_contract.h"
#include "core/error.h"

namespace ak::app {
namespace {

constexpr std::uint64_t kModelStream = 2;  // of a run's seed; inputs and held-out shapes have 0 and 1

agent::LlmModel open_priced(const std::string& name, const agent::LlmSettings& settings,
                            const agent::Budgets& budgets) {
  agent::LlmModel model = agent::open_model(name, settings);
  if (budgets.max_cost_usd && !model.entry.question_usd) {
    // What a question costs by the price of tokens is no limit of what an agent sends by itself.
    if (name.starts_with(std::string(agent::kAgentProvider) + ":"))
      fail(ExitCode::usage,
           "what '{}' spends cannot be known before, so --max-cost-usd cannot be kept; give "
           "--agent-cost-usd, the most for one question (docs/coding_agents.md)",
           name);
    if (model.entry.price) return model;
    fail(ExitCode::usage,
         "model '{}' has no price entry, so --max-cost-usd cannot be kept; give it one in {} "
         "(docs/providers.md)",
         name, settings.models_file.string());
  }
  return model;
}

/// What the provider says of its model goes before what the table says; once a run.
void consult(const std::string& name, agent::LlmSettings& settings, std::vector<ModelFault>& faults) {
  const agent::LlmModel model = agent::open_model(name, settings);
  if (!model.info_client) return;
  const agent::ModelLook look = model.info_client->look();
  if (look.entry) settings.entries[name] = *look.entry;
  if (look.failure) faults.push_back({.model = name, .remedy = look.remedy, .failure = *look.failure});
}

// How far the parts of a prompt that change may be above the counted part, in tokens a byte; chosen.
constexpr double kMaxAboveCounted = 1.2;

/// Tokens of the search's system prompt by the provider's count, in place of a rule of thumb.
void count_tokens(std::vector<agent::LlmModel>& models, const std::string& system) {
  std::map<std::string, double> counted;
  for (agent::LlmModel& model : models) {
    if (!model.info_client || counted.contains(model.name)) continue;
    const LlmRequest request{
        .model = model.entry.name, .system = system, .messages = {{"user", "?"}}, .max_output_tokens = 0};
    if (const auto tokens = model.info_client->count_tokens(request))
      counted[model.name] = static_cast<double>(*tokens) / static_cast<double>(estimated_tokens(request));
  }
  for (agent::LlmModel& model : models) {
    if (const auto known = counted.find(model.name); known != counted.end())
      model.entry.max_per_estimate = kMaxAboveCounted * known->second;
  }
}

/// What a process that an agent starts has to find as this one does. None of these is a key.
constexpr std::array kServerVariables{"ALPHAKERNEL_CONFIG", "ALPHAKERNEL_CACHE", "ALPHAKERNEL_TEMPLATES",
                                      "ALPHAKERNEL_LOCKS",  "LD_LIBRARY_PATH",   "CUDA_VISIBLE_DEVICES",
                                      "CUDA_DEVICE_ORDER",  "CUDA_HOME",         "CUDA_PATH",
                                      "XDG_CONFIG_HOME",    "XDG_CACHE_HOME"};

}  // namespace

agent::CodingAgentSettings coding_agents(const Config& config, const std::filesystem::path& database,
                                         const Target& target) {
  agent::CodingAgentSettings agents = config.llm.agents;
  agents.program = worker_command().front();
  // An agent works in a folder of its own.
  agents.database = std::filesystem::absolute(database);
  agents.contract = candidate_contract().front().text;
  agents.device = device_flag_of(target);
  for (const char* name : kServerVariables)
    if (const char* value = std::getenv(name)) agents.server_variables[name] = value;
  if (!config.cache.empty())
    agents.server_variables["ALPHAKERNEL_CACHE"] = std::filesystem::absolute(config.cache).string();
  return agents;
}

ProposerChoice choose_proposer(const std::string& proposer, const std::vector<std::string>& models,
                               const std::string& record_to, const agent::Budgets& budgets,
                               const Config& config) {
  const std::vector<std::string>& names = models.empty() ? config.models : models;
  ProposerChoice choice{.proposer = proposer, .models = {}};
  if (proposer == "auto") choice.proposer = names.empty() ? "search" : "hybrid";
  if (choice.proposer != "search" && choice.proposer != "llm" && choice.proposer != "hybrid")
    fail(ExitCode::usage, "proposer '{}' is not known; expected auto, search, llm or hybrid", proposer);
  if (choice.proposer == "search") {
    if (!models.empty())
      fail(ExitCode::usage, "a search does not ask a model: leave out --model or --proposer search");
    return choice;
  }
  if (names.empty()) {
    fail(ExitCode::usage, "--proposer {} needs a language model: --model PROVIDER:MODEL (docs/providers.md)",
         choice.proposer);
  }
  agent::LlmSettings settings = config.llm;
  for (const std::string& name : names) consult(name, settings, choice.faults);
  settings.record_to = record_to;
  for (int copy = 0; copy < config.llm_parallel; ++copy)
    for (const std::string& name : names) choice.models.push_back(open_priced(name, settings, budgets));
  return choice;
}

std::string model_names(std::span<const agent::LlmModel> models) {
  std::vector<std::string> names;
  for (const agent::LlmModel& model : models)
    if (std::ranges::find(names, model.name) == names.end()) names.push_back(model.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::unique_ptr<agent::CandidateSource> make_proposer(std::vector<agent::LlmModel> models,
                                                      const agent::LoopOptions& options,
                                                      const DeviceFacts& device, const Config& config,
                                                      Memory memory, const ModelPatience& patience,
                                                      double spent_usd) {
  const std::filesystem::path settings = config_path();
  const auto prompts =
      agent::PromptSet::with_folder(settings.empty() ? settings : settings.parent_path() / "prompts");
  const auto diagnosis = [problem = options.problem, device, arch = options.arch](
                             const Candidate& candidate, const EvaluationResult& result) {
    return diagnose(*problem, candidate, result, device, arch);
  };
  const agent::PromptSubject subject{.problem = options.problem,
                                     .device = device,
                                     .arch = options.arch,
                                     .diagnosis = diagnosis,
                                     .remembered = std::move(memory.remembered),
                                     .lessons = std::move(memory.lessons)};
  count_tokens(models, agent::system_prompt(prompts, subject, ""));
  return std::make_unique<agent::LlmProposer>(agent::LlmProposerOptions{
      .models = std::move(models),
      .parallel = static_cast<std::size_t>(config.llm_parallel),
      .max_candidates = static_cast<std::size_t>(config.llm_candidates),
      .ask_points = options.search_tunables,
      .mailbox_wait = patience.mailbox_wait,
      .outage =
          patience.outages_pass ? std::optional<agent::LlmOutageRule>(agent::LlmOutageRule{}) : std::nullopt,
      .prompts = prompts,
      .subject = subject,
      .budgets = options.budgets,
      .spent_usd = spent_usd,
      .seed = agent::derive_seed(options.seed, kModelStream),
      .max_output_tokens = config.llm_answer_tokens,
      .effort = config.llm_effort});
}

}  // namespace ak::app

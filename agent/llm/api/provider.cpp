// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/provider.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "agent/llm/api/batch_client.h"
#include "agent/llm/api/command_client.h"
#include "agent/llm/api/curl_library.h"
#include "agent/llm/api/http_client.h"
#include "agent/llm/api/model_info_client.h"
#include "agent/llm/api/recording.h"
#include "agent/llm/api/redact.h"
#include "agent/llm/coding_agent/coding_agent_client.h"
#include "agent/llm/mailbox/mailbox_client.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/suggest.h"
#include "dialect_table.h"

namespace ak::agent {
namespace {

std::string variable(const std::string& name) {
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string trimmed(std::string text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.erase(0, text.find_first_not_of(kSpace));
  text.erase(text.find_last_not_of(kSpace) + 1);
  return text;
}

std::vector<Provider> all_providers(const LlmSettings& settings) {
  std::vector<Provider> all = settings.providers;
  for (const Provider& builtin : builtin_providers()) {
    if (std::ranges::find(all, builtin.name, &Provider::name) == all.end()) all.push_back(builtin);
  }
  return all;
}

[[noreturn]] void unknown_provider(const std::string& name, const std::vector<Provider>& all) {
  std::vector<std::string> names{"agent", "command", "mailbox", "replay"};
  for (const Provider& provider : all) names.push_back(provider.name);
  std::ranges::sort(names);
  fail(ExitCode::usage, "no language-model provider '{}'{}; expected PROVIDER:MODEL with one of {}", name,
       did_you_mean(name, names), fmt::join(names, ", "));
}

/// "http://localhost:11434/v1#qwen3-coder": address and model.
void split_address(Provider& provider, std::string& model) {
  const std::size_t hash = model.find('#');
  provider.url = model.substr(0, hash);
  model = hash == std::string::npos ? "" : model.substr(hash + 1);
}

void connect(LlmModel& model, Provider provider, const LlmSettings& settings) {
  if (const std::string other = variable(provider.url_variable); !other.empty()) {
    provider.url = other;
    provider.moved = true;
  }
  while (provider.url.ends_with('/')) provider.url.pop_back();
  if (const std::string input_error = url_error(provider.url); !input_error.empty())
    fail(ExitCode::usage, "provider {}: address '{}': {}", provider.name, redact(provider.url), input_error);
  if (const std::string& unavailable_reason = curl_library().unavailable_reason; !unavailable_reason.empty())
    fail(ExitCode::environment, "language models are asked through libcurl: {}", unavailable_reason);
  const std::string key = find_key(provider, settings);
  if (key.empty() && provider.key_needed) {
    fail(ExitCode::environment, "provider {} needs a key: set {} or name a file in key_files of the {}",
         provider.name, provider.key_variable, "configuration (docs/providers.md)");
  }
  model.info_client = std::make_shared<ModelInfoClient>(provider, key, model.entry);
  if (settings.batches && takes_batches(provider)) {
    if (std::optional<ModelPrice>& price = model.entry.price) {
      for (double* usd : {&price->input, &price->output, &price->cache_read, &price->cache_write})
        *usd *= kBatchPriceShare;
    }
    const auto queue = settings.batches->of(provider, key, settings);
    model.client = std::make_shared<BatchLlmClient>(queue, std::move(provider), model.entry);
    return;
  }
  model.client =
      std::make_shared<HttpLlmClient>(std::move(provider), key, model.entry, settings.retry, settings.limits);
}

std::unique_ptr<LlmClient> command_client(const std::string& name, const LlmSettings& settings) {
  const auto found = settings.commands.find(name);
  if (found != settings.commands.end() && found->second.argv.empty())
    fail(ExitCode::usage, "the entry '{}' of llm_commands has no argv: ask agent:{}", name, name);
  if (found != settings.commands.end()) return std::make_unique<CommandLlmClient>(found->second);
  std::vector<std::string> names;
  for (const auto& [known, command] : settings.commands) names.push_back(known);
  fail(ExitCode::usage, "no command '{}' in llm_commands of the configuration{}; known: {}", name,
       did_you_mean(name, names), names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

/// Under whose name the catalogue has a provider's models.
std::string_view models_of(std::string_view provider) {
  return provider == "openai-chat" ? std::string_view("openai") : provider;
}

/// What was learned of the model, else the catalogue's entry.
ModelEntry entry_of(const LlmModel& model, std::string_view provider, const std::string& name,
                    const LlmSettings& settings) {
  const auto known = settings.entries.find(model.name);
  ModelEntry entry = known != settings.entries.end()
                         ? known->second
                         : ModelCatalog::with_file(settings.models_file).of(models_of(provider), name);
  entry.name = name;
  return entry;
}

/// Sets entry and client, and whom to ask about the model.
void make_client(LlmModel& model, const std::string& provider_name, std::string name,
                 const LlmSettings& settings) {
  model.entry = entry_of(model, provider_name, name, settings);
  if (provider_name == "replay") {
    model.client = std::make_shared<ReplayClient>(name);
  } else if (provider_name == "command") {
    model.client = command_client(name, settings);
  } else if (provider_name == kAgentProvider) {
    model.entry.question_usd = settings.agents.most_usd;
    model.client = std::make_shared<CodingAgentClient>(agent_program(name, settings.commands),
                                                       settings.agents, model.entry);
  } else if (provider_name == kMailboxProvider) {
    if (name.empty()) fail(ExitCode::usage, "name a folder: mailbox:FOLDER");
    Mailbox(name).require_writable();
    model.client = std::make_shared<MailboxClient>(name, model.entry);
  } else {
    const std::vector<Provider> all = all_providers(settings);
    const auto found = std::ranges::find(all, provider_name, &Provider::name);
    if (found == all.end()) unknown_provider(provider_name, all);
    Provider provider = *found;
    if (provider.url.empty()) {
      split_address(provider, name);
      model.entry = entry_of(model, provider_name, name, settings);
    } else if (name.empty()) {
      fail(ExitCode::usage, "name a model: {}:MODEL", provider_name);
    }
    connect(model, std::move(provider), settings);
  }
}

}  // namespace

std::span<const Provider> builtin_providers() {
  static const std::array table{
      Provider{.name = "anthropic",
               .dialect = &kAnthropicMessages,
               .url = "https://api.anthropic.com",
               .url_variable = "ANTHROPIC_BASE_URL",
               .key_variable = "ANTHROPIC_API_KEY",
               .key_header = "x-api-key"},
      Provider{.name = "openai",
               .dialect = &kOpenaiResponses,
               .url = "https://api.openai.com/v1",
               .url_variable = "OPENAI_BASE_URL",
               .key_variable = "OPENAI_API_KEY"},
      Provider{.name = "openai-chat",
               .dialect = &kOpenaiChat,
               .url = "https://api.openai.com/v1",
               .url_variable = "OPENAI_BASE_URL",
               .key_variable = "OPENAI_API_KEY"},
      Provider{.name = "local",
               .dialect = &kOpenaiChat,
               .url = "",
               .url_variable = "",
               .key_variable = "ALPHAKERNEL_LOCAL_KEY",
               .key_needed = false,
               .compatible = true},
  };
  return table;
}

std::string find_key(const Provider& provider, const LlmSettings& settings) {
  if (std::string key = trimmed(variable(provider.key_variable)); !key.empty()) return key;
  const auto file = settings.key_files.find(provider.name);
  if (file == settings.key_files.end()) return "";
  struct stat info {};
  if (stat(file->second.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    fail(ExitCode::bad_input, "{}: others may read this key; expected mode 0600 (chmod 600 {})",
         file->second.string(), file->second.string());
  }
  constexpr std::size_t kMaxKeyBytes = 16u << 10;
  return trimmed(read_file(file->second, kMaxKeyBytes));
}

std::vector<std::string> configured_keys(const LlmSettings& settings) {
  std::vector<std::string> keys;
  for (const Provider& provider : all_providers(settings))
    if (std::string key = find_key(provider, settings); !key.empty()) keys.push_back(std::move(key));
  return keys;
}

LlmModel open_model(const std::string& name, const LlmSettings& settings) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos)
    fail(ExitCode::usage, "model '{}': expected PROVIDER:MODEL, e.g. anthropic:claude-opus-5-5", name);
  LlmModel model{.name = name, .entry = {}, .client = {}, .info_client = {}};
  make_client(model, name.substr(0, colon), name.substr(colon + 1), settings);
  if (!settings.record_to.empty())
    model.client = std::make_shared<RecordingClient>(std::move(model.client), settings.record_to);
  return model;
}

}  // namespace ak::agent

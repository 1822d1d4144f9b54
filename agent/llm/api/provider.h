// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/llm/api/dialect.h"
#include "agent/llm/api/retry.h"

namespace ak::agent {

/// Who answers over HTTP.
struct Provider {
  std::string name;
  const Dialect* dialect = nullptr;
  std::string url = {};           ///< what the dialect's path is appended to; empty: part of the model's name
  std::string url_variable = {};  ///< environment variable that replaces it; may be empty
  std::string key_variable = {};  ///< environment variable of the key; may be empty
  std::string key_header = "authorization";  ///< "authorization" (Bearer) or "x-api-key"
  bool key_needed = true;
  bool compatible = false;  ///< imitates the dialect's owner
  bool moved = false;       ///< its address is the user's: a gateway, or a server that imitates the provider
};
[[nodiscard]] std::span<const Provider> builtin_providers();

/// A program that answers: the prompt on its standard input, the answer on its standard output.
struct LlmCommand {
  std::vector<std::string> argv;
  std::vector<std::string> environment = {};  ///< names of the variables that it gets, and no other
  std::chrono::milliseconds timeout{600'000};
};

/// What a coding agent works with, and how far it may go with one question (docs/coding_agents.md).
struct CodingAgentSettings {
  std::filesystem::path
      program;  ///< alphakernel: its supervisor and its MCP server; empty: no agent can be asked
  std::filesystem::path database;                                 ///< that its queries read
  std::string contract;                                           ///< how a kernel file is written
  std::string device;                                             ///< --device of what it profiles
  std::map<std::string, std::string> server_variables = {};       ///< environment of the server
  std::chrono::milliseconds most_time{std::chrono::minutes(30)};  ///< chosen: some dozens of turns
  std::int64_t most_evaluations = 20;                             ///< chosen: as many kernels in that time
  std::optional<double> most_usd = {};
};

class BatchQueues;

/// What a user has configured (docs/providers.md).
struct LlmSettings {
  std::vector<Provider> providers;  ///< the user's own: one of a known name replaces it
  std::map<std::string, LlmCommand> commands;
  CodingAgentSettings agents;
  std::map<std::string, std::filesystem::path> key_files;  ///< by provider; readable by their owner alone
  std::map<std::string, ModelEntry> entries;  ///< by full name: these replace those of the catalogue
  std::filesystem::path models_file;          ///< laid over the shipped models
  std::filesystem::path record_to;            ///< every exchange is appended; empty: none is
  std::shared_ptr<BatchQueues> batches = {};  ///< set: requests are sent in batches by those who offer them
  RetryPolicy retry;
  HttpLimits limits;
};

class ModelInfoClient;

/// A model that can be asked.
struct LlmModel {
  std::string name;  ///< as it was named: "anthropic:claude-opus-5-5"
  ModelEntry entry;
  std::shared_ptr<LlmClient> client;
  std::shared_ptr<const ModelInfoClient> info_client =
      {};  ///< asks the provider about the model; null where no one knows
};

/// The model of a name: "PROVIDER:MODEL", "local:URL#MODEL", "command:NAME", "agent:NAME", "mailbox:FOLDER" or
/// "replay:FILE". Nothing is sent yet. Throws Error(usage) when there is no such provider or command, or the address is not
/// allowed, Error(environment) when a key or libcurl is missing, Error(bad_input) for a broken models,
/// key or replay file, Error(output) for a mailbox that cannot be written.
[[nodiscard]] LlmModel open_model(const std::string& name, const LlmSettings& settings);

/// The key of a provider: of its environment variable, else of its file; empty when there is none. Throws
/// Error(bad_input) when others may read the file.
[[nodiscard]] std::string find_key(const Provider& provider, const LlmSettings& settings);

/// The keys of all providers, configured and built in, that have one. Throws as find_key() does.
[[nodiscard]] std::vector<std::string> configured_keys(const LlmSettings& settings);

}  // namespace ak::agent

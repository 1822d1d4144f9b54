// SPDX-License-Identifier: Apache-2.0
#include "app/setup/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>

#include "agent/llm/api/batch_client.h"
#include "agent/llm/coding_agent/agent_program.h"
#include "app/setup/option_ranges.h"
#include "core/error.h"
#include "core/text/format_version.h"
#include "core/text/json_quantity.h"
#include "core/text/locations.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"
#include "core/time_limit.h"
#include "db/database.h"

namespace ak::app {
namespace {

constexpr Format kConfigFormat{.name = "the configuration"};

/// Reads the value of a key into the configuration. Throws JsonInputError.
using Read = void (*)(Config&, const JsonReader&);

std::vector<std::string> texts(const JsonReader& at) {
  std::vector<std::string> list;
  for (const JsonReader& item : at.items()) list.push_back(item.text());
  return list;
}

void read_models(Config& config, const JsonReader& at) {
  if (!at.json().is_string() && !at.json().is_array()) at.fail("provider:model, or a list of them");
  config.models = at.json().is_string() ? std::vector{at.text()} : texts(at);
}

void read_key_files(Config& config, const JsonReader& at) {
  for (const auto& [provider, file] : at.members()) config.llm.key_files[provider] = file.text();
}

void read_commands(Config& config, const JsonReader& commands) {
  for (const auto& [name, at] : commands.members()) {
    at.only({"argv", "environment", "timeout_s"});
    agent::LlmCommand command;
    if (at.find("argv") || !agent::is_known_agent(name)) {
      command.argv = texts(at.member("argv"));
      if (command.argv.empty()) at.member("argv").fail("a program and its arguments");
    }
    if (const auto variables = at.find("environment")) command.environment = texts(*variables);
    if (const auto timeout = at.find("timeout_s"))
      command.timeout = std::chrono::seconds(std::llround(std::ceil(quantity_in(*timeout, kSeconds))));
    config.llm.commands[name] = std::move(command);
  }
}

std::string one_of_the_dialects() {
  std::vector<std::string_view> names;
  for (const agent::Dialect* dialect : agent::dialects()) names.push_back(dialect->name);
  return fmt::format("one of {}", fmt::join(names, ", "));
}

void read_providers(Config& config, const JsonReader& providers) {
  for (const auto& [name, at] : providers.members()) {
    at.only({"api", "url", "key_variable", "key_header"});
    agent::Provider provider{.name = name, .url = at.member("url").text(), .compatible = true};
    provider.dialect = agent::find_dialect(at.member("api").text());
    if (provider.dialect == nullptr) at.member("api").fail(one_of_the_dialects());
    if (const auto variable = at.find("key_variable")) provider.key_variable = variable->text();
    provider.key_needed = !provider.key_variable.empty();
    if (const auto header = at.find("key_header")) provider.key_header = header->text();
    if (provider.key_header != "authorization" && provider.key_header != "x-api-key")
      at.member("key_header").fail("authorization or x-api-key");
    config.llm.providers.push_back(std::move(provider));
  }
}

/// More at once, or of one answer, no provider and no prompt is made for.
constexpr IntegerRange kSome{.min = 1, .max = 16};
/// Far above what a model writes in one answer.
constexpr IntegerRange kAnswerTokens{.min = 0, .max = 10'000'000};
/// Budgets; 0 leaves nothing to do.
constexpr IntegerRange kBudget{.min = 0};

template <auto kMember>
void read_text(Config& config, const JsonReader& at) {
  config.*kMember = at.text();
}
template <auto kMember>
void read_some(Config& config, const JsonReader& at) {
  config.*kMember = static_cast<int>(integer_in(at, kSome));
}
template <auto kMember>
void read_budget(Config& config, const JsonReader& at) {
  config.budgets.*kMember = integer_in(at, kBudget);
}

const std::map<std::string, Read>& keys() {
  using agent::Budgets;
  static const std::map<std::string, Read> table{
      {"database", read_text<&Config::database>},
      {"cache", read_text<&Config::cache>},
      {"arch", read_text<&Config::arch>},
      {"device", read_text<&Config::device>},
      {"model", read_models},
      {"key_files", read_key_files},
      {"llm_commands", read_commands},
      {"llm_providers", read_providers},
      {"llm_effort", read_text<&Config::llm_effort>},
      {"llm_answer_tokens",
       [](Config& c, const JsonReader& at) {
         c.llm_answer_tokens = static_cast<int>(integer_in(at, kAnswerTokens));
       }},
      {"llm_batches",
       [](Config& c, const JsonReader& at) {
         if (at.boolean()) c.llm.batches = std::make_shared<agent::BatchQueues>();
       }},
      {"llm_parallel", read_some<&Config::llm_parallel>},
      {"llm_candidates", read_some<&Config::llm_candidates>},
      {"workers",
       [](Config& c, const JsonReader& at) { c.workers = static_cast<int>(integer_in(at, kWorkers)); }},
      {"python", read_text<&Config::python>},
      {"time_model", read_text<&Config::time_model>},
      {"predict", [](Config& c, const JsonReader& at) { c.predict = at.boolean(); }},
      {"max_evaluations", read_budget<&Budgets::max_evaluations>},
      {"max_compilations", read_budget<&Budgets::max_compilations>},
      {"patience", read_budget<&Budgets::patience>},
      {"stop_when_done",
       [](Config& c, const JsonReader& at) { c.budgets.least_gain = quantity_in(at, kPercent) / 100; }},
      {"agent_minutes",
       [](Config& c, const JsonReader& at) {
         c.llm.agents.most_time = time_limit(quantity_in(at, kMinutes) * 60);
       }},
      {"agent_evaluations",
       [](Config& c, const JsonReader& at) {
         c.llm.agents.most_evaluations = integer_in(at, kAgentEvaluations);
       }},
      {"agent_cost_usd",
       [](Config& c, const JsonReader& at) { c.llm.agents.most_usd = quantity_in(at, kDollars); }},
      {"max_tokens", read_budget<&Budgets::max_tokens>},
      {"max_cost_usd",
       [](Config& c, const JsonReader& at) { c.budgets.max_cost_usd = quantity_in(at, kDollars); }},
      {"max_minutes",
       [](Config& c, const JsonReader& at) {
         c.budgets.max_wall = time_limit(quantity_in(at, kMinutes) * 60);
       }},
  };
  return table;
}

/// Reads the object of the file, key by key.
Config& read_keys(Config& config, const JsonReader& at) {
  std::vector<std::string> names;
  for (const auto& [name, read] : keys()) names.push_back(name);
  for (const auto& [name, value] : at.members()) {
    if (name == kConfigFormat.key) continue;
    const auto key = keys().find(name);
    if (key == keys().end())
      at.reject(fmt::format("unknown key '{}'{}", sanitize(name, 60), did_you_mean(name, names)));
    key->second(config, value);
  }
  return config;
}

}  // namespace

std::string named_python(const Config& config) {
  const std::filesystem::path python = locations().python;
  return python.empty() ? config.python : python.string();
}

std::filesystem::path config_path() {
  if (std::filesystem::path named = locations().config; !named.empty()) return named;
  if (const char* file = std::getenv("ALPHAKERNEL_CONFIG"); file && *file) return file;
  if (const char* dir = std::getenv("XDG_CONFIG_HOME"); dir && *dir)
    return std::filesystem::path(dir) / "alphakernel/config.json";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".config/alphakernel/config.json";
  return {};
}

Config load_config() {
  Config config;
  const std::filesystem::path path = config_path();
  if (!path.empty()) config.llm.models_file = path.parent_path() / "models.json";
  if (path.empty() || !std::filesystem::exists(path)) return config;
  const Json written = read_written_json(path);
  try {
    const Json json = up_to_date(kConfigFormat, written);
    return read_keys(config, JsonReader(json));
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", path.string(), input_error.what());
  }
}

DeviceCatalog load_device_catalog() {
  return DeviceCatalog::with_folder(config_path().parent_path() / "devices");
}

std::filesystem::path database_file(const std::string& flag, const Config& config) {
  if (!flag.empty()) return flag;
  return config.database.empty() ? db::default_database() : std::filesystem::path(config.database);
}

}  // namespace ak::app

// SPDX-License-Identifier: Apache-2.0
#include "app/setup/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "agent/llm/api/batch_client.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json_reader.h"
#include "core/text/locations.h"
#include "core/text/suggest.h"
#include "db/database.h"

namespace ak::app {
namespace {

using Setter = std::function<void(Config&, const Json&)>;

struct Key {
  std::string expected;
  bool (*accepts)(const Json&);
  Setter set;
};

bool is_text(const Json& value) { return value.is_string(); }
bool is_flag(const Json& value) { return value.is_boolean(); }
bool is_count(const Json& value) { return value.is_number_integer() && value.get<std::int64_t>() >= 0; }
bool is_some(const Json& value) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 1 && value.get<std::int64_t>() <= 16;
}
bool is_amount(const Json& value) { return value.is_number() && value.get<double>() > 0; }

bool is_object(const Json& value) { return value.is_object(); }

std::vector<std::string> texts(const JsonReader& at) {
  std::vector<std::string> list;
  for (const JsonReader& item : at.items()) list.push_back(item.text());
  return list;
}

bool is_text_or_list(const Json& value) { return value.is_string() || value.is_array(); }

void set_models(Config& config, const Json& value) {
  const JsonReader at(value, "model");
  config.models = value.is_string() ? std::vector{at.text()} : texts(at);
}

void set_key_files(Config& config, const Json& value) {
  for (const auto& [provider, file] : JsonReader(value, "key_files").members())
    config.llm.key_files[provider] = file.text();
}

void set_commands(Config& config, const Json& value) {
  for (const auto& [name, at] : JsonReader(value, "llm_commands").members()) {
    at.only({"argv", "environment", "timeout_s"});
    agent::LlmCommand command{.argv = texts(at.member("argv"))};
    if (command.argv.empty()) at.member("argv").fail("a program and its arguments");
    if (const auto variables = at.find("environment")) command.environment = texts(*variables);
    if (const auto timeout = at.find("timeout_s")) command.timeout = std::chrono::seconds(timeout->integer());
    config.llm.commands[name] = std::move(command);
  }
}

std::string one_of_the_dialects() {
  std::vector<std::string_view> names;
  for (const agent::Dialect* dialect : agent::dialects()) names.push_back(dialect->name);
  return fmt::format("one of {}", fmt::join(names, ", "));
}

void set_providers(Config& config, const Json& value) {
  for (const auto& [name, at] : JsonReader(value, "llm_providers").members()) {
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

const std::map<std::string, Key>& keys() {
  static const std::map<std::string, Key> table{
      {"database", {"a path", is_text, [](Config& c, const Json& v) { c.database = v; }}},
      {"cache", {"a path", is_text, [](Config& c, const Json& v) { c.cache = v; }}},
      {"arch",
       {"a target such as \"sm_90a\" or \"native\"", is_text, [](Config& c, const Json& v) { c.arch = v; }}},
      {"device",
       {"auto, cuda, cuda:N, emulator or none", is_text, [](Config& c, const Json& v) { c.device = v; }}},
      {"model", {"provider:model, or a list of them", is_text_or_list, set_models}},
      {"key_files", {"an object of files", is_object, set_key_files}},
      {"llm_commands", {"an object of commands", is_object, set_commands}},
      {"llm_providers", {"an object of providers", is_object, set_providers}},
      {"llm_effort", {"low, medium, high, ...", is_text, [](Config& c, const Json& v) { c.llm_effort = v; }}},
      {"llm_answer_tokens",
       {"a number of tokens", is_count,
        [](Config& c, const Json& v) { c.llm_answer_tokens = v.get<int>(); }}},
      {"llm_batches",
       {"true or false", is_flag,
        [](Config& c, const Json& v) {
          if (v.get<bool>()) c.llm.batches = std::make_shared<agent::BatchQueues>();
        }}},
      {"llm_parallel",
       {"a number of requests from 1 to 16", is_some,
        [](Config& c, const Json& v) { c.llm_parallel = v.get<int>(); }}},
      {"llm_candidates",
       {"a number of candidates from 1 to 16", is_some,
        [](Config& c, const Json& v) { c.llm_candidates = v.get<int>(); }}},
      {"workers", {"a number of compile workers", is_count, [](Config& c, const Json& v) { c.workers = v; }}},
      {"predict", {"true or false", is_flag, [](Config& c, const Json& v) { c.predict = v; }}},
      {"max_evaluations",
       {"a number >= 0", is_count,
        [](Config& c, const Json& v) { c.budgets.max_evaluations = v.get<std::int64_t>(); }}},
      {"max_compilations",
       {"a number >= 0", is_count,
        [](Config& c, const Json& v) { c.budgets.max_compilations = v.get<std::int64_t>(); }}},
      {"patience",
       {"a number >= 0", is_count,
        [](Config& c, const Json& v) { c.budgets.patience = v.get<std::int64_t>(); }}},
      {"max_tokens",
       {"a number >= 0", is_count,
        [](Config& c, const Json& v) { c.budgets.max_tokens = v.get<std::int64_t>(); }}},
      {"max_cost_usd",
       {"a number > 0", is_amount,
        [](Config& c, const Json& v) { c.budgets.max_cost_usd = v.get<double>(); }}},
      {"max_minutes",
       {"a number > 0", is_amount,
        [](Config& c, const Json& v) {
          c.budgets.max_wall = std::chrono::milliseconds(std::llround(v.get<double>() * 60'000));
        }}},
  };
  return table;
}

}  // namespace

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
  Json json;
  try {
    json = parse_json(read_file(path));
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", path.string(), error.what());
  }
  if (!json.is_object()) fail(ExitCode::bad_input, "{}: expected a JSON object", path.string());
  std::vector<std::string> names;
  for (const auto& [name, key] : keys()) names.push_back(name);
  for (const auto& [name, value] : json.items()) {
    const auto key = keys().find(name);
    if (key == keys().end())
      fail(ExitCode::bad_input, "{}: unknown key '{}'{}", path.string(), name, did_you_mean(name, names));
    if (!key->second.accepts(value)) {
      fail(ExitCode::bad_input, "{}: '{}' is {}, expected {}", path.string(), name, value.dump(),
           key->second.expected);
    }
    try {
      key->second.set(config, value);
    } catch (const JsonInputError& input_error) {
      fail(ExitCode::bad_input, "{}: {}", path.string(), input_error.what());
    }
  }
  return config;
}

DeviceCatalog load_device_catalog() {
  return DeviceCatalog::with_folder(config_path().parent_path() / "devices");
}

std::filesystem::path database_file(const std::string& flag, const Config& config) {
  if (!flag.empty()) return flag;
  return config.database.empty() ? db::default_database() : std::filesystem::path(config.database);
}

}  // namespace ak::app

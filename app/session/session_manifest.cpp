// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "app/search/manifest_fields.h"
#include "app/session/notification.h"
#include "app/setup/option_ranges.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/hash.h"
#include "core/text/json_quantity.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

/// A run being read: its arguments, and the folder of the manifest.
struct Reading {
  Arguments arguments;
  fs::path folder;

  template <class T>
  void add(std::string_view flag, const T& value) {
    arguments.push_back(fmt::format("--{}={}", flag, value));
  }
};

using Read = void (*)(const JsonReader&, std::string_view flag, Reading&);

void read_words(const JsonReader& at, std::string_view flag, Reading& run) {
  run.add(flag, read_text(at, "a text"));
}
/// One, or a list of several.
void read_several(const JsonReader& at, std::string_view flag, Reading& run) {
  if (!at.json().is_array()) return read_words(at, flag, run);
  for (const JsonReader& item : at.items()) read_words(item, flag, run);
}
void read_path(const JsonReader& at, std::string_view flag, Reading& run) {
  run.add(flag, fs::absolute(run.folder / read_text(at, "a path")).lexically_normal().string());
}
void read_number(const JsonReader& at, std::string_view flag, Reading& run) { run.add(flag, read_count(at)); }
template <const IntegerRange& kRange>
void read_integer(const JsonReader& at, std::string_view flag, Reading& run) {
  run.add(flag, integer_in(at, kRange));
}
template <const QuantityRange& kQuantity>
void read_quantity(const JsonReader& at, std::string_view flag, Reading& run) {
  run.add(flag, quantity_in(at, kQuantity));
}
/// Minutes, or a text as the flag has it, which is checked with the other flags.
void read_wait(const JsonReader& at, std::string_view flag, Reading& run) {
  at.json().is_string() ? read_words(at, flag, run) : run.add(flag, quantity_in(at, kMinutes));
}
void read_chosen_strategy(const JsonReader& at, std::string_view flag, Reading& run) {
  run.add(flag, read_strategy(at));
}
void read_sizes(const JsonReader& at, std::string_view flag, Reading& run) {
  for (const std::string& shape : read_shapes(at)) run.add(flag, shape);
}
void read_points(const JsonReader& at, std::string_view flag, Reading& run) {
  for (const auto& [name, values] : read_fixed(at))
    run.add(flag, fmt::format("{}={}", name, fmt::join(values, ",")));
}
void read_problem_params(const JsonReader& at, std::string_view, Reading& run) {
  for (const auto& [name, value] : read_params(at)) run.add(name, to_string(value));
}
void read_on(const JsonReader& at, std::string_view flag, Reading& run) {
  if (at.boolean()) run.arguments.push_back(fmt::format("--{}", flag));
}
void read_off(const JsonReader& at, std::string_view flag, Reading& run) {
  if (!at.boolean()) run.arguments.push_back(fmt::format("--no-{}", flag));
}

/// A search's weight among others. A million times as much as another is as good as all.
constexpr QuantityRange kShare{.max = 1e6, .above_min = true};
/// An exabyte is more than a disk has.
constexpr QuantityRange kMegabytes{.kind = QuantityRange::Kind::size, .min = 1, .max = 0x1p40, .unit = "M"};

constexpr Format kManifestFormat{.name = "the manifest of a session"};

/// A key of a run, and the flag of `generate` that it stands for. In this order flags are given.
struct Key {
  std::string_view name, flag;
  Read read;
};
constexpr std::array kKeys{
    Key{"algorithm", "algorithm", read_words},
    Key{"problem", "problem", read_path},
    Key{"params", "", read_problem_params},
    Key{"shape", "shape", read_sizes},
    Key{"start", "start", read_path},
    Key{"template", "template", read_words},
    Key{"set", "set", read_points},
    Key{"best", "best", read_path},
    Key{"arch", "arch", read_words},
    Key{"device", "device", read_words},
    Key{"pool", "pool", read_path},
    Key{"proposer", "proposer", read_words},
    Key{"model", "model", read_several},
    Key{"mailbox_wait", "mailbox-wait", read_wait},
    Key{"agent_minutes", "agent-minutes", read_quantity<kMinutes>},
    Key{"agent_evaluations", "agent-evaluations", read_integer<kAgentEvaluations>},
    Key{"agent_cost_usd", "agent-cost-usd", read_quantity<kDollars>},
    Key{"record", "record", read_path},
    Key{"strategy", "strategy", read_chosen_strategy},
    Key{"seed", "seed", read_integer<kSeeds>},
    Key{"deterministic", "deterministic", read_on},
    Key{"per_shape", "per-shape", read_on},
    Key{"prepared_copies", "prepared-copies", read_integer<kPreparedCopies>},
    Key{"unaudited", "unaudited", read_on},
    Key{"prior", "prior", read_off},
    Key{"predict", "predict", read_off},
    Key{"transfer", "transfer", read_off},
    Key{"baselines", "baselines", read_words},
    Key{"target_performance", "target-performance", read_words},
    Key{"patience", "patience", read_number},
    Key{"stop_when_done", "stop-when-done", read_quantity<kPercent>},
    Key{"max_evaluations", "max-evaluations", read_number},
    Key{"max_compilations", "max-compilations", read_number},
    Key{"max_minutes", "max-minutes", read_quantity<kMinutes>},
    Key{"max_tokens", "max-tokens", read_integer<kTokens>},
    Key{"max_cost_usd", "max-cost-usd", read_quantity<kDollars>},
    Key{"workers", "workers", read_integer<kWorkers>},
};
// What only a session knows.
constexpr std::array<std::string_view, 4> kOwnKeys{"name", "output", "priority", "share"};

void check_keys(const JsonReader& at) {
  std::vector<std::string> known(kOwnKeys.begin(), kOwnKeys.end());
  for (const Key& key : kKeys) known.emplace_back(key.name);
  for (const auto& [name, value] : at.members()) {
    if (std::ranges::find(known, name) == known.end())
      at.reject(fmt::format("unknown key '{}'{}; known: {}", sanitize(name, 60), did_you_mean(name, known),
                            fmt::join(known, ", ")));
  }
}

Arguments read_arguments(const JsonReader& at, const fs::path& folder) {
  check_keys(at);
  Reading reading{.arguments = {}, .folder = folder};
  for (const Key& key : kKeys)
    if (const auto given = at.find(key.name)) key.read(*given, key.flag, reading);
  return std::move(reading.arguments);
}

void complete(db::SessionSearch& run) {
  if (!has_flag(run.arguments, "--seed"))
    run.arguments.push_back(fmt::format("--seed={}", random_seed() >> 1));
  if (!has_flag(run.arguments, "--max-compilations"))
    run.arguments.push_back(fmt::format("--max-compilations={}", kMaxCompilations));
}

db::SessionSearch read_run(const Json& defaults, const JsonReader& at, const fs::path& folder,
                           const fs::path& outputs) {
  check_keys(at);
  if (at.find("algorithm").has_value() == at.find("problem").has_value())
    at.reject("expected 'algorithm' or 'problem', one of them");
  Json merged = defaults;
  merged.update(at.json());
  const JsonReader whole(merged, at.path());
  db::SessionSearch run;
  const auto name = whole.find("name");
  if (!name && !whole.find("algorithm")) at.reject("the key 'name' is missing");
  run.name = read_name(name ? *name : whole.member("algorithm"));
  if (const auto given = whole.find("priority")) run.priority = integer_in(*given, {.min = -kMaxCount});
  if (const auto given = whole.find("share")) run.share = quantity_in(*given, kShare);
  run.arguments = read_arguments(whole, folder);
  const auto output = whole.find("output");
  const fs::path kernel = output ? fs::path(read_text(*output, "a path")) : fs::path(run.name + ".cu");
  run.arguments.push_back(fmt::format("--output={}", (outputs / kernel).string()));
  complete(run);
  return run;
}

db::Session read(const JsonReader& at, const fs::path& file, const fs::path& outputs) {
  at.only({"format", "name", "budgets", "notify", "defaults", "runs"});
  const fs::path folder = file.parent_path();
  db::Session session;
  const auto name = at.find("name");
  session.name = name ? read_name(*name) : file.stem().string();
  const auto budgets = at.find("budgets");
  session.budgets = to_json(budgets ? session_budgets_from(*budgets) : SessionBudgets{});
  if (const auto notify = at.find("notify")) {
    check_notify(notify_from(*notify));
    session.budgets["notify"] = notify->json();
  }
  Json defaults = Json::object();
  if (const auto given = at.find("defaults")) {
    static_cast<void>(read_arguments(*given, folder));
    for (const char* key : {"name", "output", "algorithm", "problem"})
      if (given->find(key)) given->reject(fmt::format("'{}' is of one run", key));
    defaults = given->json();
  }
  std::set<std::string> names;
  for (const JsonReader& item : at.member("runs").items()) {
    session.runs.push_back(read_run(defaults, item, folder, outputs));
    const std::string& run = session.runs.back().name;
    if (!names.insert(run).second)
      item.reject(fmt::format("another run is called '{}' too; give it a 'name'", run));
  }
  if (session.runs.empty()) at.member("runs").fail("at least one run");
  std::ranges::stable_sort(session.runs, std::greater(), &db::SessionSearch::priority);
  return session;
}

}  // namespace

Json to_json(const SessionBudgets& budgets) {
  Json json = {{"min_free_mb", budgets.min_free_mb},
               {"wait_for_device_minutes", budgets.wait_for_device_minutes}};
  if (budgets.max_minutes) json["max_minutes"] = *budgets.max_minutes;
  if (budgets.max_tokens) json["max_tokens"] = *budgets.max_tokens;
  if (budgets.max_cost_usd) json["max_cost_usd"] = *budgets.max_cost_usd;
  if (budgets.max_evaluations) json["max_evaluations"] = *budgets.max_evaluations;
  if (budgets.steer) json["steer"] = true;
  return json;
}

SessionBudgets session_budgets_from(const JsonReader& at) {
  at.only({"max_minutes", "max_evaluations", "max_tokens", "max_cost_usd", "steer", "min_free_mb",
           "least_free_mb", "wait_for_device_minutes"});
  SessionBudgets budgets;
  if (const auto given = at.find("max_minutes")) budgets.max_minutes = quantity_in(*given, kMinutes);
  if (const auto given = at.find("max_tokens")) budgets.max_tokens = read_count(*given);
  if (const auto given = at.find("max_cost_usd")) budgets.max_cost_usd = quantity_in(*given, kDollars);
  if (const auto given = at.find("max_evaluations")) budgets.max_evaluations = read_count(*given);
  if (const auto given = at.find("steer")) budgets.steer = given->boolean();
  if (budgets.steer && !budgets.max_minutes && !budgets.max_evaluations)
    at.reject("'steer' shares out minutes and evaluations: give 'max_minutes' or 'max_evaluations', too");
  for (const char* key : {"least_free_mb", "min_free_mb"})  // the first is its name in older manifests
    if (const auto given = at.find(key)) budgets.min_free_mb = std::llround(quantity_in(*given, kMegabytes));
  if (const auto given = at.find("wait_for_device_minutes"))
    budgets.wait_for_device_minutes = quantity_in(*given, kMinutes);
  return budgets;
}

db::Session read_session_manifest(const fs::path& file, const fs::path& outputs) {
  const std::string text = read_file(file);
  try {
    const Json json = up_to_date(kManifestFormat, parse_written_json(text));
    return read(JsonReader(json), file, outputs);
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file.string(), error.what());
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), input_error.what());
  }
}

db::Session session_from(const Json& manifest, const fs::path& folder, const fs::path& outputs) {
  return read(JsonReader(manifest), folder / "session.json", outputs);
}

db::Session one_search(Arguments arguments) {
  db::SessionSearch run;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (const std::string flag : {"--algorithm", "--problem"}) {
      if (arguments[i] == flag && i + 1 < arguments.size()) run.name = arguments[i + 1];
      if (arguments[i].starts_with(flag + "=")) run.name = arguments[i].substr(flag.size() + 1);
    }
  }
  run.name = fs::path(run.name).lexically_normal().filename().string();
  run.arguments = std::move(arguments);
  complete(run);
  db::Session session;
  session.name = run.name;
  session.budgets = to_json(SessionBudgets{});
  session.runs.push_back(std::move(run));
  return session;
}

}  // namespace ak::app

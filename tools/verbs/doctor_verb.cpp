// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "app/machine/pool_examination.h"
#include "core/error.h"
#include "core/text/quantity.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

void print_parts(const Json& parts) {
  for (const Json& part : parts) {
    const bool present = part["present"].get<bool>();
    fmt::print("{:<12}{:<9}{}\n", part["part"].get<std::string>(), present ? "ok" : "missing",
               part["detail"].get<std::string>());
    if (!present)
      fmt::print("{:<21}costs: {}\n{:<21}to get it: {}\n", "", part["cost"].get<std::string>(), "",
                 part["remedy"].get<std::string>());
  }
}

constexpr double kDefaultPatienceS = 20;  // a driver that starts and a host that is far (chosen)

/// The line of a place: what it has, or why it cannot be used.
std::string words_of(const Json& place) {
  if (!place["usable"].get<bool>()) return place["fault"].get<std::string>();
  std::vector<std::string> words{place["device"].get<std::string>()};
  if (!place["cuda_of_driver"].is_null())
    words.push_back("CUDA " + place["cuda_of_driver"].get<std::string>());
  words.push_back(fmt::format("clock {:+.1f} s", place["clock_skew_s"].get<double>()));
  if (!place["free_bytes"].is_null())
    words.push_back(fmt::format("{:.0f} GB free", place["free_bytes"].get<double>() / 1e9));
  words.push_back(fmt::format("calibration {:.1f} us and {:.1f} us",
                              place["calibration"]["compute_us"].get<double>(),
                              place["calibration"]["copy_us"].get<double>()));
  return fmt::format("{}", fmt::join(words, ", "));
}

void print_places(const Json& places) {
  for (const Json& place : places) {
    fmt::print("{:<40} {:<9}{}\n", place["place"].get<std::string>(),
               place["usable"].get<bool>() ? "ok" : "unusable", words_of(place));
    for (const Json& note : place["notes"]) fmt::print("{:<41}note: {}\n", "", note.get<std::string>());
  }
}

int examine_pool(const std::string& file, double patience_s, bool json) {
  const Json found = app::examine_pool(file, std::chrono::milliseconds(std::llround(1e3 * patience_s)));
  if (json)
    fmt::print("{}\n", found.dump(2));
  else
    print_places(found["places"]);
  return static_cast<int>(found["usable"].get<bool>() ? ExitCode::ok : ExitCode::environment);
}

int run_doctor(const app::Arguments& arguments) {
  CLI::App app{"Say what is present, what is missing, what that costs and how to get it.",
               "alphakernel doctor"};
  set_style(app,
            "Examples:\n  alphakernel doctor\n  alphakernel doctor --model anthropic:claude-sonnet-5-5\n  "
            "alphakernel doctor --pool pool.json\n  alphakernel doctor --json\n\nExits with 5 when no kernel "
            "could be built, when a model that --model names cannot be asked, or when a device of the pool "
            "cannot be used.\n");
  bool json = false;
  std::vector<std::string> models;
  auto* const model_option =
      app.add_option("--model", models, "ask the provider of this model about it; may be repeated");
  std::string pool;
  double patience_s = kDefaultPatienceS;
  auto* const pool_option = app.add_option(
      "--pool", pool, "look at the devices of this pool file instead of this machine (docs/fleet.md)");
  add_quantity(app, "--wait", kSeconds, into(patience_s),
               "how many seconds the devices of the pool have for their answers (default 20)")
      ->needs(pool_option);
  pool_option->excludes(model_option);
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  if (!pool.empty()) return examine_pool(pool, patience_s, json);
  Json request = Json::object();
  add_text(request, "models", fmt::format("{}", fmt::join(models, ",")));
  const operations::Answer answer = call_operation("examine_machine", request, "doctor", arguments);
  json ? print_json(answer) : print_parts(answer.content["parts"]);
  return static_cast<int>(answer.content["usable"].get<bool>() ? ExitCode::ok : ExitCode::environment);
}

}  // namespace

const Verb kDoctorVerb{"doctor", "say what is present, what is missing, what that costs and how to get it",
                       run_doctor, kProgramVerbs};

}  // namespace ak::tools

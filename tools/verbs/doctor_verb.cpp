// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
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

int run_doctor(const app::Arguments& arguments) {
  CLI::App app{"Say what is present, what is missing, what that costs and how to get it.",
               "alphakernel doctor"};
  set_style(app,
            "Examples:\n  alphakernel doctor\n  alphakernel doctor --model anthropic:claude-sonnet-5-5\n  "
            "alphakernel doctor --json\n\nExits with 5 when no kernel "
            "could be built, or when a model that --model names cannot be asked.\n");
  bool json = false;
  std::vector<std::string> models;
  app.add_option("--model", models, "ask the provider of this model about it; may be repeated");
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
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

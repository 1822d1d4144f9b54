// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel_choice.h"

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "db/stored_candidate.h"

namespace ak::tools {
namespace {

Params params_of(const Json& json) {
  Params params;
  if (!json.is_object()) return params;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) params[name] = value.get<std::string>();
    if (value.is_number_integer()) params[name] = value.get<std::int64_t>();
    if (value.is_boolean()) params[name] = static_cast<std::int64_t>(value.get<bool>());
  }
  return params;
}

}  // namespace

KernelChoice kernel_of_source(const std::string& name, const std::string& source) {
  Result<Candidate> parsed = parse_candidate(name, source);
  if (!parsed) fail(ExitCode::bad_input, "{}:{}: {}", name, parsed.error().line, parsed.error().message);
  const LaunchPlan& plan = parsed->plan;
  return {.candidate = *parsed, .problem = plan.problem, .params = params_of(plan.params)};
}

KernelChoice kernel_of_file(const std::string& path) { return kernel_of_source(path, read_file(path)); }

KernelChoice kernel_of_variant(const std::filesystem::path& database, const std::string& variant) {
  const auto stored = db::find_candidate(database, std::stoll(variant));
  if (!stored)
    fail(ExitCode::usage,
         "there is no variant {} in {} (alphakernel query \"SELECT id, name FROM variants\")", variant,
         database.string());
  Result<Candidate> parsed = parse_candidate(stored->name, stored->source);
  if (!parsed) fail(ExitCode::bad_input, "variant {}: {}", variant, parsed.error().message);
  Candidate candidate = std::move(parsed).value();
  candidate.tunables = stored->tunables.get<TunableValues>();
  return {.candidate = std::move(candidate), .problem = stored->problem, .params = params_of(stored->params)};
}

bool is_variant(const std::string& word) {
  constexpr std::size_t kMostDigits = 18;  // of a row number
  return !word.empty() && word.size() <= kMostDigits &&
         std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

std::string kernel_argument(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool output = i > 0 && (arguments[i - 1] == "--output" || arguments[i - 1] == "-o");
    if (argument.size() > 3 && argument.ends_with(".cu") && argument[0] != '-' && !output) return argument;
  }
  return "";
}

}  // namespace ak::tools

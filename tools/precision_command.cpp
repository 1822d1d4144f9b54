// SPDX-License-Identifier: Apache-2.0
#include "tools/precision_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <sstream>

#include "app/evaluate/claimed_output.h"
#include "app/precision/precision_search.h"
#include "app/session/session_manifest.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "core/text/quantity.h"
#include "core/text/suggest.h"
#include "tools/command_line.h"
#include "tools/generate_command.h"

namespace ak::tools {
namespace {

constexpr std::string_view kOpen = "auto";
// Parameters that say how a problem is computed, and not what.
constexpr std::array<std::string_view, 2> kPrecisions{"dtype", "precision"};
// What would choose for one precision what the others do not have.
constexpr std::array kOfOnePrecision{"--from", "--start", "--pool"};
constexpr std::string_view kBound = "--max-error", kInputs = "--inputs-like";

std::string flag_of(std::string_view param) { return fmt::format("--{}", param); }

bool is_open(const app::Arguments& arguments, std::string_view param) {
  return peek(arguments, flag_of(param)) == kOpen;
}

double stated_bound(const app::Arguments& arguments) {
  const std::string text = peek(arguments, std::string(kBound));
  if (text.empty()) fail(ExitCode::usage, "say which error is right enough: {} 1e-3", kBound);
  const auto bound = parse_quantity(text, kErrors);
  if (!bound) fail(ExitCode::usage, "{}: {}", kBound, bound.error().message);
  return *bound;
}

std::vector<std::string> stated_inputs(const app::Arguments& arguments, const ProblemInstance& problem) {
  std::vector<std::string> known{std::string(app::kNoDistribution)}, chosen;
  for (const InputDistribution& distribution : problem.distributions) known.push_back(distribution.name);
  std::istringstream words(peek(arguments, std::string(kInputs)));
  for (std::string word; std::getline(words, word, ',');) {
    if (std::ranges::find(known, word) == known.end())
      fail(ExitCode::usage, "{}: {} has no distribution '{}'{}; known: {}", kInputs, problem.problem, word,
           did_you_mean(word, known), fmt::join(known, ", "));
    chosen.push_back(word);
  }
  return chosen;
}

codegen::Problem named_problem(const app::Arguments& arguments) {
  const std::string name = peek(arguments, "--algorithm"), folder = peek(arguments, "--problem");
  if (name.empty() == folder.empty()) fail(ExitCode::usage, "give --algorithm or --problem, one of them");
  return codegen::load_problem(folder.empty() ? codegen::find_problem(name) : std::filesystem::path(folder));
}

std::vector<ParamSpec> open_params(const codegen::Problem& problem, const app::Arguments& arguments) {
  std::vector<ParamSpec> open;
  for (const std::string_view name : kPrecisions) {
    if (!is_open(arguments, name)) continue;
    const auto param = std::ranges::find(problem.params, name, &ParamSpec::name);
    if (param == problem.params.end()) fail(ExitCode::usage, "{} has no {}", problem.name, flag_of(name));
    open.push_back(*param);
  }
  return open;
}

void set_value(app::Arguments& arguments, const std::string& flag, const std::string& value) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == fmt::format("{}={}", flag, kOpen)) arguments[i] = fmt::format("{}={}", flag, value);
    if (arguments[i] == flag && i + 1 < arguments.size() && arguments[i + 1] == kOpen)
      arguments[i + 1] = value;
  }
}

app::Arguments without_bound(app::Arguments arguments) {
  for (const std::string_view flag : {kBound, kInputs})
    static_cast<void>(app::take_option(arguments, std::string(flag)));
  return arguments;
}

/// Those that the problem has; where it has none, the first reason why.
std::vector<app::PrecisionChoice> choices_of(const std::vector<ChosenArguments>& chosen,
                                             const std::string& command) {
  std::vector<app::PrecisionChoice> choices;
  std::optional<Error> first_error;
  for (const ChosenArguments& one : chosen) {
    try {
      auto generate = generate_command(one.arguments, command);
      if (!generate) continue;
      const ProblemInstance& problem = *generate->setup.run.problem;
      if (const std::string why = app::why_no_errors(problem); !why.empty())
        fail(ExitCode::usage, "errors of {} cannot be bounded: {}", problem.definition.name, why);
      choices.push_back({one.name.empty() ? problem.definition.name : one.name, std::move(*generate)});
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage && error.code() != ExitCode::no_kernel) throw;
      if (!first_error) first_error = error;
      if (chosen.size() > 1) print_stderr("note: {} is left out: {}\n", one.name, error.what());
    }
  }
  if (choices.empty() && first_error) throw Error(*first_error);
  return choices;
}

/// The one whose inputs are rounded the least, whatever was asked for: of all values of the dtype.
std::shared_ptr<const ProblemInstance> widest_of(const codegen::Problem& problem, const Params& chosen) {
  std::shared_ptr<const ProblemInstance> widest;
  double least = 0;
  const auto consider = [&](const Params& params) {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : params) texts[name] = to_string(value);
    try {
      auto instance = codegen::instantiate(problem, codegen::choose_params(problem, texts));
      if (!app::why_no_errors(*instance).empty()) return;
      double roundoff = 0;
      for (const TensorSpec& input : instance->definition.inputs) roundoff += info(input.dtype).unit_roundoff;
      if (!widest || roundoff < least) widest = std::move(instance), least = roundoff;
    } catch (const Error&) {  // a combination that the problem does not have
    }
  };
  const auto dtype = std::ranges::find(problem.params, kPrecisions[0], &ParamSpec::name);
  if (dtype == problem.params.end()) consider(chosen);
  for (std::size_t i = 0; dtype != problem.params.end() && i < dtype->choices.size(); ++i) {
    Params params = chosen;
    params[dtype->name] = dtype->choices[i];
    const auto named = to_string(dtype->choices[i]);
    if (const auto type = parse_dtype(named); type && info(*type).floating) consider(params);
  }
  if (!widest)
    fail(ExitCode::usage, "{} has no floating dtype whose results could be the reference", problem.name);
  return widest;
}

}  // namespace

bool asks_precision(const app::Arguments& arguments) {
  return !peek(arguments, std::string(kBound)).empty() || !peek(arguments, std::string(kInputs)).empty() ||
         std::ranges::any_of(kPrecisions, [&](std::string_view name) { return is_open(arguments, name); });
}

std::vector<ChosenArguments> with_each_choice(const app::Arguments& arguments,
                                              const std::vector<ParamSpec>& open) {
  std::vector<ChosenArguments> chosen{{"", without_bound(arguments)}};
  for (const ParamSpec& param : open) {
    std::vector<ChosenArguments> longer;
    for (const ChosenArguments& one : chosen)
      for (const Value& value : param.choices) {
        ChosenArguments more = one;
        set_value(more.arguments, flag_of(param.name), to_string(value));
        more.name += fmt::format("{}{}={}", one.name.empty() ? "" : " ", param.name, to_string(value));
        longer.push_back(std::move(more));
      }
    chosen = std::move(longer);
  }
  return chosen;
}

int generate_within_error(const app::Arguments& arguments,
                          std::chrono::steady_clock::time_point command_start, const app::ShowSearch& show) {
  const double bound = stated_bound(arguments);
  const codegen::Problem problem = named_problem(arguments);
  for (const char* flag : kOfOnePrecision)
    if (!peek(arguments, flag).empty())
      fail(ExitCode::usage, "{} is for one precision on devices of this machine: leave {} out", flag, kBound);
  app::Arguments all = arguments;
  app::ClaimedOutput output;
  if (peek(arguments, "--output").empty() && peek(arguments, "-o").empty()) {
    output = app::free_output(problem.name + "_within_error.cu");
    all.insert(all.end(), {"--output", output.path.string()});
  }
  auto choices =
      choices_of(with_each_choice(all, open_params(problem, arguments)), app::generate_line(arguments));
  if (choices.empty()) return 0;
  const app::SearchRun& first = choices.front().command.setup.run;
  if (!first.target.executes())
    fail(ExitCode::usage, "{} compares results: it needs a device (--device emulator is one, too)", kBound);
  app::StatedError stated{
      .max_error = bound, .inputs_like = {}, .widest = widest_of(problem, first.problem->params)};
  stated.inputs_like = stated_inputs(arguments, *stated.widest);
  return app::run_precisions(std::move(choices), stated, command_start, show);
}

}  // namespace ak::tools

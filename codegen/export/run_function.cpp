// SPDX-License-Identifier: Apache-2.0
#include "codegen/export/run_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <vector>

#include "codegen/export/export_parts.h"
#include "codegen/export/export_text.h"

namespace ak::codegen {
namespace {

using Names = std::vector<std::string>;

// Functions at the top level that make inputs (runtime/reference/python/entries.py).
constexpr std::array<std::string_view, 5> kInputMakers{"get_inputs", "example_inputs", "example_args",
                                                       "get_init_inputs", "main"};

/// Names after `keyword` at the beginning of a line, such as those of "def NAME(".
Names top_level_names(std::string_view source, std::string_view keyword) {
  Names names;
  for (std::size_t line = 0; line < source.size();) {
    const std::size_t end = std::min(source.find('\n', line), source.size());
    std::string_view text = source.substr(line, end - line);
    if (text.starts_with(keyword)) {
      text.remove_prefix(keyword.size());
      const auto* last =
          std::ranges::find_if_not(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
      names.emplace_back(text.begin(), last);
    }
    line = end + 1;
  }
  return names;
}

bool has(const Names& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

Names input_names(const ProblemInstance& problem) {
  Names names;
  for (const TensorSpec& input : problem.definition.inputs) names.push_back(input.name);
  return names;
}

/// The class that the file's module is of: Model, else the only class.
std::string module_class(const std::string& source) {
  const Names classes = top_level_names(source, "class ");
  if (has(classes, "Model")) return "Model";
  return classes.size() == 1 ? classes.front() : "";
}

std::string python_list(const Names& names) {
  Names quoted;
  for (const std::string& name : names) quoted.push_back(python_text(name));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string module_run(const ProblemInstance& problem) {
  const PythonReference& python = *problem.python;
  const std::string name = module_class(python.source);
  if (name.empty()) return python.source;
  const Names inputs = input_names(problem);
  Names pairs;
  for (const std::string& input : inputs) pairs.push_back(fmt::format("{0}={0}", input));
  return export_text("run_of_module.py", {{"source", python.source},
                                          {"class", name},
                                          {"mode", python.options.value("eval", false) ? ".eval()" : ""},
                                          {"parameters", fmt::format("{}", fmt::join(inputs, ", "))},
                                          {"pairs", fmt::format("{}", fmt::join(pairs, ", "))},
                                          {"inputs", python_list(inputs)}});
}

/// What makes the file's own inputs, as an expression; empty where nothing does.
std::string input_maker(const std::string& source) {
  const Names functions = top_level_names(source, "def ");
  for (const char* name : {"get_inputs", "example_inputs", "example_args"}) {
    if (has(functions, name)) return fmt::format("{}()", name);
    if (source.find(fmt::format("\n{} =", name)) != std::string::npos) return name;
  }
  return "";
}

std::string function_run(const ProblemInstance& problem) {
  const std::string& source = problem.python->source;
  Names functions = top_level_names(source, "def ");
  std::erase_if(functions, [](const std::string& name) {
    return name.starts_with("_") || std::ranges::find(kInputMakers, name) != kInputMakers.end();
  });
  const bool named = has(functions, "run");
  if (!named && functions.size() != 1) return source;
  const std::string call =
      named
          ? ""
          : fmt::format("def run(*args, **kwargs):\n    return {}(*args, **kwargs)\n\n\n", functions.front());
  const std::string maker = input_maker(source);
  if (maker.empty()) return named ? source : fmt::format("{}\n\n{}", source, call);
  return export_text("run_of_function.py", {{"source", source},
                                            {"function", call},
                                            {"maker", maker},
                                            {"inputs", python_list(input_names(problem))}});
}

/// ref_kernel() takes one argument: a tensor, or a tuple of what are the problem's inputs data_0, data_1, ...
std::string board_run(const ProblemInstance& problem) {
  const Names names = input_names(problem);
  const std::string& source = problem.python->source;
  if (names == Names{"data"}) return source + "\n\ndef run(data):\n    return ref_kernel(data)\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != fmt::format("data_{}", i)) return source;
  return fmt::format("{0}\n\ndef run({1}):\n    return ref_kernel(({1},))\n", source, fmt::join(names, ", "));
}

struct Parameter {
  std::string name, value;  ///< the default, as it is written; empty: none
};

/// Of the first function run() at the top level.
std::vector<Parameter> run_parameters(const std::string& source) {
  constexpr std::string_view kHead = "def run(";
  const std::size_t begin = source.find(kHead), end = source.find(')', begin);
  std::vector<Parameter> parameters;
  if (begin == std::string::npos || end == std::string::npos) return parameters;
  const std::string list = source.substr(begin + kHead.size(), end - begin - kHead.size());
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string one = list.substr(at, comma - at);
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::size_t first = std::min(one.find_first_not_of(" \n"), one.size());
    const std::size_t last = one.find_last_not_of(" \n", equals == one.size() ? one.size() : equals - 1);
    if (first < one.size() && last != std::string::npos)
      parameters.push_back({one.substr(first, last - first + 1),
                            equals < one.size() ? one.substr(equals + 1) : std::string()});
    at = comma + 1;
  }
  return parameters;
}

std::string python_value(const Value& value, ParamType type) {
  if (std::holds_alternative<std::string>(value)) return python_text(std::get<std::string>(value));
  if (type == ParamType::boolean) return std::get<std::int64_t>(value) != 0 ? "True" : "False";
  return to_string(value);
}

/// Whether a call with the inputs by position gives each to its parameter.
bool in_order(const Names& inputs, const std::vector<Parameter>& parameters) {
  return inputs.size() <= parameters.size() &&
         std::ranges::equal(inputs, parameters | std::views::take(inputs.size()), {}, {}, &Parameter::name);
}

/// A shipped reference takes params as further arguments, and tensors that this definition may lack; an evaluator calls
/// run() with the definition's tensors alone.
std::string shipped_run(const ProblemInstance& problem) {
  const std::string& source = problem.definition.reference;
  const Names inputs = input_names(problem);
  const std::vector<Parameter> parameters = run_parameters(source);
  Names passed;
  for (const std::string& input : inputs) passed.push_back(fmt::format("{0}={0}", input));
  for (const Parameter& parameter : parameters) {
    const auto param = problem.params.find(parameter.name);
    // Where the default is None the name is that of a tensor, which is there or not.
    if (param == problem.params.end() || has(inputs, parameter.name) || parameter.value == "None") continue;
    const bool boolean = parameter.value == "True" || parameter.value == "False";
    passed.push_back(
        fmt::format("{}={}", parameter.name,
                    python_value(param->second, boolean ? ParamType::boolean : ParamType::choice)));
  }
  if (passed.size() == inputs.size() && in_order(inputs, parameters)) return source;
  return fmt::format("{}\n\n_run_with_params = run\n\n\ndef run({}):\n    return _run_with_params({})\n",
                     source, fmt::join(inputs, ", "), fmt::join(passed, ", "));
}

}  // namespace

std::string reference_with_run(const ProblemInstance& problem) {
  if (!problem.python) return shipped_run(problem);
  if (problem.python->kind == "kernelbench") return module_run(problem);
  if (problem.python->kind == "gpu_mode") return board_run(problem);
  return function_run(problem);
}

}  // namespace ak::codegen

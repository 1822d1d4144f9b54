// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/algorithms_audit.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

std::string axes_text(const Json& axes) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : axes.items()) parts.push_back(fmt::format("{}={}", name, size.dump()));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string roles_text(const Json& shape) {
  std::string text = shape["checked"].get<bool>() ? "checked" : "";
  if (shape["timed"].get<bool>()) text += text.empty() ? "timed" : ", timed";
  return text;
}

void print_list(const Json& problems) {
  std::size_t width = 0;
  for (const Json& problem : problems) width = std::max(width, problem["name"].get<std::string>().size());
  for (const Json& problem : problems)
    fmt::print("{:<{}}{}\n", problem["name"].get<std::string>(), width + 2,
               problem.contains("broken") ? "broken: " + problem["broken"].get<std::string>()
                                          : problem["summary"].get<std::string>());
  fmt::print("\nalphakernel algorithms NAME shows parameters, shapes and templates.\n");
}

std::string word_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void print_parameter(const Json& parameter) {
  std::vector<std::string> choices;
  for (const Json& choice : parameter["choices"]) choices.push_back(word_of(choice));
  fmt::print("  {:<12}{} [{}] default {}\n", parameter["name"].get<std::string>(),
             parameter["help"].get<std::string>(), fmt::join(choices, ", "), word_of(parameter["default"]));
}

void print_problem(const Json& problem) {
  fmt::print("{}: {}\n\nParameters\n", problem["name"].get<std::string>(),
             problem["summary"].get<std::string>());
  for (const Json& parameter : problem["parameters"]) print_parameter(parameter);
  fmt::print("\nShapes (with default parameters)\n");
  for (const Json& shape : problem["shapes"])
    fmt::print("  {:<18}{:<24}{}\n", shape["name"].get<std::string>(), axes_text(shape["axes"]),
               roles_text(shape));
  fmt::print("\nTemplates\n");
  const std::string folder = problem["folder"];
  for (const Json& file : problem["templates"])
    fmt::print("  {}/{}\n", folder, file["file"].get<std::string>());
}

int run_algorithms(const app::Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "audit")
    return run_audit({arguments.begin() + 1, arguments.end()});
  CLI::App app{"List the algorithms, or show one; or audit them (alphakernel algorithms audit --help).",
               "alphakernel algorithms"};
  set_style(app, "Examples:\n  alphakernel algorithms\n  alphakernel algorithms softmax\n");
  std::string name;
  bool json = false;
  app.add_option("name", name, "algorithm to show");
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return DescribeCommandLines::active() ? run_audit({}) : 0;
  const operations::Answer answer =
      name.empty()
          ? call_operation("list_problems", Json::object(), "algorithms", arguments)
          : call_operation("show_problem", {{"problem", name}, {"section", "all"}}, "algorithms", arguments);
  if (json) {
    print_json(answer);
  } else {
    name.empty() ? print_list(answer.content["problems"]) : print_problem(answer.content);
  }
  return 0;
}

}  // namespace

const Verb kAlgorithmsVerb{"algorithms", "list the algorithms, or one's parameters and shapes",
                           run_algorithms, kProblemVerbs};

}  // namespace ak::tools

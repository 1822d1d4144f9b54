// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/operations/operation.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "tools/algorithms_audit.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

std::string axes_text(const AxisValues& axes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : axes) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string roles_text(const Workload& workload) {
  std::string text = workload.has(WorkloadRole::check) ? "checked" : "";
  if (workload.has(WorkloadRole::time)) text += text.empty() ? "timed" : ", timed";
  return text;
}

void print_list() {
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    fmt::print("{:<18}{}\n", entry.name,
               entry.input_error.empty() ? entry.summary : "broken: " + entry.input_error);
  }
  fmt::print("\nalphakernel algorithms NAME shows parameters, shapes and templates.\n");
}

Json list_json() {
  return operations::call(operations::operation_named("list_problems"), Json::object(), {})
      .content["problems"];
}

void print_problem(const codegen::Problem& problem) {
  const auto instance = codegen::instantiate(problem, codegen::choose_params(problem, {}));
  fmt::print("{}: {}\n\nParameters\n", problem.name, problem.summary);
  for (const ParamSpec& param : problem.params) {
    std::vector<std::string> choices;
    for (const Value& choice : param.choices) choices.push_back(to_string(choice));
    fmt::print("  {:<12}{} [{}] default {}\n", param.name, param.help, fmt::join(choices, ", "),
               to_string(param.default_value));
  }
  fmt::print("\nShapes (with default parameters)\n");
  for (const Workload& workload : instance->workloads) {
    fmt::print("  {:<18}{:<24}{}\n", workload.name, axes_text(workload.axes), roles_text(workload));
  }
  fmt::print("\nTemplates\n");
  for (const CandidateFile& file : instance->templates)
    fmt::print("  {}\n", (instance->folder / file.name).string());
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
  if (name.empty()) {
    json ? fmt::print("{}\n", list_json().dump(2)) : print_list();
    return 0;
  }
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem(name));
  json ? fmt::print("{}\n", problem.json.dump(2)) : print_problem(problem);
  return 0;
}

}  // namespace

const Verb kAlgorithmsVerb{"algorithms", "list the algorithms, or one's parameters and shapes",
                           run_algorithms, kProblemVerbs};

}  // namespace ak::tools

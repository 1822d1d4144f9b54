// SPDX-License-Identifier: Apache-2.0
#include "app/problem/draft_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/problem/problem_files.h"
#include "core/text/shown_text.h"

namespace ak::app {
namespace {

/// A value of problem.json on a line: texts as they are.
std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// `key`: value, indented; nothing where there is none.
std::string shown_line(const Json& json, const char* key, const char* title) {
  const auto found = json.find(key);
  if (found == json.end() || (found->is_structured() && found->empty())) return "";
  return fmt::format("  {:<15} {}\n", title, value_text(*found));
}

/// A line for each member of an object, or each item of a list by its name.
std::string section(const Json& json, const char* key, const std::string& title) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_structured() || found->empty()) return "";
  std::string text = title + "\n";
  if (found->is_object()) {
    for (const auto& [name, value] : found->items())
      text += fmt::format("  {:<15} {}\n", name, value_text(value));
  } else {
    for (Json item : *found) {
      const std::string name = item.is_object() ? item.value("name", "") : "";
      if (item.is_object()) item.erase("name");
      text += fmt::format("  {:<15} {}\n", name, value_text(item));
    }
  }
  return text + "\n";
}

/// What neither the examples nor the audit can tell: whether the reference itself makes such a mistake.
std::string unshown_text(const std::vector<ExampleRun>& examples) {
  const std::vector<std::string> names = unshown_mutations(examples);
  if (names.empty()) return "";
  return fmt::format(
      "No example shows these mistakes: {}.\nWhether the reference makes one itself is for you to see.\n\n",
      fmt::join(names, ", "));
}

std::string examples_text(const std::vector<ExampleRun>& examples) {
  if (examples.empty()) return "No example: examples.json is missing.\n\n";
  std::string text = "Examples, computed by reference.cu just now\n";
  for (const ExampleRun& run : examples) {
    std::string params;
    for (const auto& [name, value] : run.example.params) params += fmt::format(", {} = {}", name, value);
    text += fmt::format("  on workload {}{}\n", run.example.workload, params);
    for (const auto& [name, value] : run.example.inputs.items())
      text += fmt::format("    {:<13} {}\n", name, value_text(value));
    for (const auto& [name, value] : run.computed.items())
      text += fmt::format("    {:<13} {}\n", name + " =", value_text(value));
    for (const std::string& fault : run.faults) text += fmt::format("    ! {}\n", fault);
  }
  return text + "\n";
}

std::string origin_text(const DraftMark& mark) {
  std::string text = fmt::format("drafted by {} in {} answer{}, from: {}\n", mark.model, mark.rounds,
                                 mark.rounds == 1 ? "" : "s", mark.description);
  if (!mark.paper.empty()) text += fmt::format("and from the paper {}\n", mark.paper);
  return text;
}

std::string workloads_text(const std::string& file) {
  return "Shapes (workloads.jsonl)\n" + file + (file.ends_with('\n') ? "\n" : "\n\n");
}

}  // namespace

std::string draft_page(const codegen::Problem& problem, const DraftMark& mark,
                       const std::vector<ExampleRun>& examples) {
  const Json& json = problem.json;
  const Json& definition = json.at("definition");
  std::string page = fmt::format("{}: {}\n{}\n", problem.name, problem.summary, origin_text(mark));
  page += "What it computes\n" + shown_line(definition, "description", "formula");
  page += shown_line(json, "flops", "operations") + shown_line(json, "bytes_read", "bytes read") +
          shown_line(json, "bytes_written", "bytes written") +
          shown_line(definition, "constraints", "only where") + shown_line(json, "aliases", "in place") +
          shown_line(json, "tolerance", "tolerance") + "\n";
  page += section(json, "params", "Parameters") + section(definition, "axes", "Sizes") +
          section(definition, "inputs", "Inputs") + section(definition, "outputs", "Outputs") +
          section(json, "distributions", "Inputs are drawn as") +
          section(json, "mutations", "Mistakes that the checks have to notice") +
          section(json, "audit_exempt", "What the audit does not ask of it, and why") +
          section(json, "sources", "Sources, as the model names them");
  page += workloads_text(codegen::read_problem_file(problem.folder, "workloads.jsonl")) +
          examples_text(examples) + unshown_text(examples);
  page += "reference.cu, which says what is right\n\n" +
          codegen::read_problem_file(problem.folder, "reference.cu");
  return shown_text(page);
}

}  // namespace ak::app

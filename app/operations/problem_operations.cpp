// SPDX-License-Identifier: Apache-2.0
// What can be written a kernel for, and how.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "app/operations/kernel_request.h"
#include "app/operations/problem_sections.h"
#include "candidate_contract.h"
#include "codegen/problem/problem_catalog.h"
#include "codegen/problem/tensor_text.h"
#include "core/error.h"

namespace ak::operations {
namespace {

// A longer template teaches less than a simple kernel for another problem.
constexpr std::size_t kMaxExampleBytes = 8'000;
constexpr const char* kSimpleProblem = "vector_add";
constexpr std::size_t kMaxTimedShapes = 6;  // in the overview, which is to stay short

Json value_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json param_json(const ParamSpec& param) {
  Json json{{"name", param.name}, {"help", param.help}, {"default", value_json(param.default_value)}};
  json["choices"] = Json::array();
  for (const Value& choice : param.choices) json["choices"].push_back(value_json(choice));
  if (param.minimum) json["minimum"] = *param.minimum;
  if (param.maximum) json["maximum"] = *param.maximum;
  return json;
}

Json workload_json(const Workload& workload) {
  Json json{{"name", workload.name}, {"axes", workload.axes}};
  json["checked"] = workload.has(WorkloadRole::check);
  json["timed"] = workload.has(WorkloadRole::time);
  json["on_emulator"] = workload.tier == WorkloadTier::emulator;
  return json;
}

const CandidateFile* shortest(const ProblemInstance& problem) {
  const auto found = std::ranges::min_element(problem.templates, {},
                                              [](const CandidateFile& file) { return file.source.size(); });
  return found == problem.templates.end() ? nullptr : &*found;
}

/// A kernel that passes: of the problem itself where it has a short one.
Json example_of(const ProblemInstance& problem) {
  const CandidateFile* own = shortest(problem);
  if (own != nullptr && own->source.size() <= kMaxExampleBytes)
    return {{"problem", problem.problem}, {"file", own->name}, {"source", own->source}};
  const auto simple = codegen::load_problem(codegen::find_problem(kSimpleProblem));
  const auto instance = codegen::instantiate(simple, codegen::choose_params(simple, {}));
  const CandidateFile* file = shortest(*instance);
  AK_ASSERT(file != nullptr, "the simplest shipped problem has a template");
  return {{"problem", kSimpleProblem}, {"file", file->name}, {"source", file->source}};
}

Json templates_of(const ProblemInstance& problem) {
  Json list = Json::array();
  for (const CandidateFile& file : problem.templates)
    list.push_back({{"file", file.name}, {"bytes", file.source.size()}});
  return list;
}

Json checks_of(const ProblemInstance& problem) {
  Json distributions = Json::array();
  for (const InputDistribution& each : problem.distributions) distributions.push_back(each.name);
  return {{"tolerance_factor", problem.tolerance.factor},
          {"tolerance_floor_ulps", problem.tolerance.floor_ulps},
          {"why", problem.tolerance.reason},
          {"may_differ_between_calls", problem.tolerance.allow_nondeterministic},
          {"input_distributions", std::move(distributions)}};
}

Json tensors_of(const Definition& definition) {
  Json tensors = Json::object();
  for (const auto* list : {&definition.inputs, &definition.outputs})
    for (const TensorSpec& tensor : *list)
      tensors[tensor.name] =
          fmt::format("{} {}", list == &definition.inputs ? "input" : "output", codegen::tensor_text(tensor));
  return tensors;
}

/// "M=8192, N=4096"
std::string sizes_text(const AxisValues& axes) {
  std::string text;
  for (const auto& [name, size] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, size);
  return text;
}

/// A few of the shapes that kernels are timed on; all are in their own section.
Json timed_shapes_of(const ProblemInstance& problem) {
  Json list = Json::array();
  for (const Workload& workload : problem.workloads)
    if (workload.has(WorkloadRole::time) && list.size() < kMaxTimedShapes)
      list.push_back(fmt::format("{}: {}{}", workload.name, sizes_text(workload.axes),
                                 workload.tier == WorkloadTier::emulator ? " (on the CPU device)" : ""));
  return list;
}

void add_overview(Json& json, const ProblemInstance& problem, const codegen::Problem& family) {
  json["parameters"] = Json::array();
  for (const ParamSpec& param : family.params) json["parameters"].push_back(param_json(param));
  json["computes"] = problem.definition.description;
  json["tensors"] = tensors_of(problem.definition);
  json["constraints"] = problem.definition.constraints;
  if (!problem.aliases.empty()) json["outputs_in_place_of"] = problem.aliases;
  json["work_of_a_call"] = {{"flops", problem.flops.text()},
                            {"bytes_read", problem.bytes_read.text()},
                            {"bytes_written", problem.bytes_written.text()}};
  json["checks"] = checks_of(problem);
  json["timed_shapes"] = timed_shapes_of(problem);
  json["templates"] = templates_of(problem);
  json["how_to_time"] =
      "evaluate with this problem and params; checks run on every shape, times are of the shapes marked "
      "timed";
  json["sections"] =
      "show_problem with section: definition (the reference in Python, axes, constraints), "
      "shapes (all of them), example (a kernel that passes), contract (how a kernel file is "
      "written; the first thing to read before writing one), all";
}

void add_definition(Json& json, const ProblemInstance& problem, const codegen::Problem&) {
  json["definition"] = to_json(problem.definition);
}

void add_shapes(Json& json, const ProblemInstance& problem, const codegen::Problem&) {
  json["shapes"] = Json::array();
  for (const Workload& workload : problem.workloads) json["shapes"].push_back(workload_json(workload));
}

void add_example(Json& json, const ProblemInstance& problem, const codegen::Problem&) {
  json["example"] = example_of(problem);
}

void add_contract(Json& json, const ProblemInstance&, const codegen::Problem&) {
  json["contract"] = candidate_contract().front().text;
}

/// What there is to show of a problem; without a section named, the first.
struct Section {
  std::string_view name;
  void (*add)(Json& json, const ProblemInstance& problem, const codegen::Problem& family);
};
constexpr std::array kSections{Section{"overview", add_overview}, Section{"definition", add_definition},
                               Section{"shapes", add_shapes}, Section{"example", add_example},
                               Section{"contract", add_contract}};
constexpr std::string_view kAllSections = "all";

}  // namespace

std::vector<std::string_view> problem_sections() {
  std::vector<std::string_view> names;
  for (const Section& section : kSections) names.push_back(section.name);
  names.push_back(kAllSections);
  return names;
}

Answer list_problems(const Json&, const Context&, const Callbacks&) {
  Json list = Json::array();
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    Json one{{"name", entry.name}, {"summary", entry.summary}, {"folder", entry.folder.string()}};
    if (!entry.input_error.empty()) one["broken"] = entry.input_error;
    list.push_back(std::move(one));
  }
  return {.content = {{"problems", std::move(list)}}};
}

Answer show_problem(const Json& request, const Context&, const Callbacks&) {
  const codegen::Problem problem = problem_of(request, "");
  const auto instance = instance_of(problem, request, {});
  Json json{{"name", problem.name},
            {"definition_name", instance->definition.name},
            {"summary", problem.summary},
            {"folder", problem.folder.string()},
            {"params", Json::object()}};
  for (const auto& [name, value] : instance->params) json["params"][name] = value_json(value);
  const std::string wanted = request.at("section");
  for (const Section& section : kSections)
    if (section.name == wanted || wanted == kAllSections) section.add(json, *instance, problem);
  return {.content = std::move(json)};
}

}  // namespace ak::operations

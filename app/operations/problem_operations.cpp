// SPDX-License-Identifier: Apache-2.0
// What can be written a kernel for, and how.
#include <fmt/format.h>

#include <algorithm>

#include "app/operations/kernel_request.h"
#include "candidate_contract.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"

namespace ak::operations {
namespace {

// A longer template teaches less than a simple kernel for another problem.
constexpr std::size_t kMaxExampleBytes = 8'000;
constexpr const char* kSimpleProblem = "vector_add";

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
    list.push_back({{"path", (problem.folder / file.name).string()}, {"bytes", file.source.size()}});
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

Json instance_json(const ProblemInstance& problem) {
  Json json{{"params", Json::object()}, {"definition", to_json(problem.definition)}};
  for (const auto& [name, value] : problem.params) json["params"][name] = value_json(value);
  if (!problem.aliases.empty()) json["outputs_in_place_of"] = problem.aliases;
  json["work_of_a_call"] = {{"flops", problem.flops.text()},
                            {"bytes_read", problem.bytes_read.text()},
                            {"bytes_written", problem.bytes_written.text()}};
  json["checks"] = checks_of(problem);
  json["shapes"] = Json::array();
  for (const Workload& workload : problem.workloads) json["shapes"].push_back(workload_json(workload));
  json["templates"] = templates_of(problem);
  json["example"] = example_of(problem);
  return json;
}

}  // namespace

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
  Json json{{"name", problem.name}, {"summary", problem.summary}, {"folder", problem.folder.string()}};
  json["parameters"] = Json::array();
  for (const ParamSpec& param : problem.params) json["parameters"].push_back(param_json(param));
  json.update(instance_json(*instance_of(problem, request, {})));
  json["how_to_time"] =
      "evaluate with this problem and params; checks run on every shape, times are of the shapes marked "
      "timed";
  if (request.at("contract").get<bool>()) json["contract"] = candidate_contract().front().text;
  return {.content = std::move(json)};
}

}  // namespace ak::operations

// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/question_facts.h"

#include "codegen/problem/problem_catalog.h"
#include "core/error.h"

namespace ak::agent {
namespace {

/// How another machine finds the problem: one that ships by its name, any other by its folder.
std::string problem_word(const ProblemInstance& problem) {
  try {
    if (codegen::find_problem(problem.problem) == problem.folder) return problem.problem;
  } catch (const Error&) {
    // It has another name than all that ship.
  }
  return problem.folder.string();
}

Json params_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&, &key = name](const auto& known) { json[key] = known; }, value);
  return json;
}

Json shapes_json(const std::vector<Workload>& workloads) {
  Json json = Json::array();
  for (const Workload& workload : workloads) json.push_back(workload.axes);
  return json;
}

void add_budget(const Budgets& budgets, const LlmSpending& spending, const LlmRequest& request, Json& json) {
  Json& budget = json["budget"] = {{"answer_tokens", request.max_output_tokens}};
  if (budgets.max_tokens) budget["tokens_left"] = *budgets.max_tokens - spending.tokens();
  if (budgets.max_cost_usd) budget["usd_left"] = *budgets.max_cost_usd - spending.cost_usd();
}

}  // namespace

Json question_facts(const LlmProposerOptions& options, const LlmSpending& spending, const Question& question,
                    const std::string& model, const QuestionName& name, int number) {
  const PromptSubject& subject = options.subject;
  Json json{{"id", name.id},
            {"search", name.search},
            {"asked", number},
            {"model", model},
            {"arm", question.is_repeat ? "unreadable" : question.arm},
            {"max_candidates", question.max_candidates}};
  add_budget(options.budgets, spending, question.request, json);
  json.update({{"problem", problem_word(*subject.problem)},
               {"definition", subject.problem->definition.name},
               {"params", params_json(subject.problem->params)},
               {"shapes", shapes_json(subject.problem->workloads)},
               {"arch", subject.arch.sm()},
               {"device", subject.device.name}});
  if (const Candidate& parent = question.parent.candidate; !parent.source.empty()) {
    json["parent_tunables"] = parent.tunables;
    json["parent_source"] = parent.source;
  }
  return json;
}

}  // namespace ak::agent

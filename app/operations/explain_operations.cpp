// SPDX-License-Identifier: Apache-2.0
// What a kernel is like, and what two differ in.
#include <fmt/format.h>

#include "app/compare/subject_comparison.h"
#include "app/explain/ablation.h"
#include "app/explain/compared_kernels.h"
#include "app/explain/explanation.h"
#include "app/explain/variant_comparison.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "app/operations/page_length.h"
#include "codegen/emit/emit.h"
#include "core/error.h"

namespace ak::operations {
namespace {

app::EvaluationOptions options_of(const Json& request, const Context& context, std::string_view name) {
  return {.device = request.value("device", ""),
          .arch = request.value("arch", ""),
          .command = command_of(context, name),
          .unaudited = request.at("unaudited").get<bool>()};
}

Json optimisation_json(const codegen::OptimisationNote& note) {
  return {{"name", note.name}, {"lines", note.lines}, {"evidence", note.evidence}};
}

/// Only what was measured is said.
Json limit_json(const codegen::LimitNote& note, bool emulated) {
  Json json{{"shape", note.workload}, {"try", note.remedies}};
  if (note.time_ns) json[emulated ? "emulated_cost_us" : "time_us"] = rounded(*note.time_ns / 1e3);
  if (note.floor_ns) {
    json["floor_us"] = rounded(*note.floor_ns / 1e3);
    json["floor"] = note.floor_reason;
  }
  if (note.bottleneck.empty()) return json;
  json["basis"] = note.basis;
  json["bottleneck"] = note.bottleneck;
  json["evidence"] = note.evidence;
  json["at_most_times_faster"] = rounded(note.at_most);
  if (!note.next.empty()) json["next"] = note.next;
  return json;
}

Json explanation_answer(const app::StoredKernel& kernel, const codegen::RunSummary& summary,
                        const PageLength& length) {
  const codegen::ExplanationParts& parts = summary.parts;
  Json json{{"variant", kernel.stored.variant},
            {"problem", kernel.problem->definition.name},
            {"device", summary.device},
            {"arch", summary.arch},
            {"status", to_string(kernel.stored.result.outcome.status)},
            {"approach", parts.approach}};
  const auto& score_ns = kernel.stored.result.score_ns;
  if (score_ns) json[summary.emulated ? "emulated_cost_us" : "score_us"] = rounded(*score_ns / 1e3);
  json["optimisations"] = json["limits"] = Json::array();
  for (const codegen::OptimisationNote& note : parts.optimisations)
    if (!note.evidence.empty()) json["optimisations"].push_back(optimisation_json(note));
  json["tunables"] = Json::array();
  for (const codegen::TunableNote& note : parts.tunables)
    if (!note.evidence.empty())
      json["tunables"].push_back({{"name", note.name}, {"evidence", note.evidence}});
  for (const codegen::LimitNote& note : parts.limits)
    json["limits"].push_back(limit_json(note, summary.emulated));
  json["page"] = length.shown(
      codegen::emit_explanation(*kernel.problem, kernel.candidate, kernel.stored.result, summary));
  if (length.whole) json["record"] = app::explanation_json(kernel, summary);
  return json;
}

/// A kernel as `word` names it, for the problem that it says, or that the request says.
app::KernelSubject subject_of(const std::string& word, const Json& request, const Context& context) {
  const app::KernelChoice choice = app::choose_kernel(word, context.database);
  const codegen::Problem problem = problem_of(request, choice.problem);
  const bool own = choice.problem == problem.name;
  return {.problem = instance_of(problem, request, own ? choice.params : Params{}),
          .choice = choice,
          .file = word};
}

/// The second of two. What is evaluated now, or does not say what it is for, is for the problem of the first.
app::KernelSubject second_of(const app::KernelSubject& first, const Json& request, const Context& context) {
  const std::string word = request["second"];
  const app::KernelChoice choice = app::choose_kernel(word, context.database);
  if (!first.choice.problem.empty() && !choice.problem.empty() && first.choice.problem != choice.problem)
    fail(ExitCode::usage, "{} computes {}, {} computes {}: there is nothing to compare", first.file,
         first.choice.problem, word, choice.problem);
  if (choice.problem.empty() || request.contains("device"))
    return {.problem = first.problem, .choice = choice, .file = word};
  return subject_of(word, request, context);
}

}  // namespace

Answer explain(const Json& request, const Context& context, const Callbacks&) {
  const KernelTask task = kernel_task(request, context);
  const app::EvaluationOptions options = options_of(request, context, "explain");
  const std::string file = request.value("path", "kernel.cu");
  app::StoredKernel kernel =
      app::evaluated_kernel({.problem = task.problem, .choice = task.kernel, .file = file}, options,
                            context.config, context.database);
  if (request.at("ablate").get<bool>()) {
    app::run_ablation(kernel, options, context.config, context.database);
    kernel = app::stored_kernel(context.database, kernel.stored.variant, kernel.candidate, *task.problem,
                                kernel.stored.device.name);
  }
  return {.content = explanation_answer(kernel, app::stored_summary(context.database, kernel),
                                        page_length(request))};
}

Answer compare(const Json& request, const Context& context, const Callbacks&) {
  const app::KernelSubject first = subject_of(request["first"], request, context);
  const app::KernelSubject second = second_of(first, request, context);
  const auto [a, b] = app::compared_kernels(first, second, options_of(request, context, "compare"),
                                            context.config, context.database);
  const app::VariantComparison comparison = app::compare_variants(context.database, a, b);
  Json json{{"first", a.stored.variant}, {"second", b.stored.variant}, {"why", comparison.why}};
  if (comparison.ratio) {
    json["basis"] = comparison.basis;
    json["second_over_first"] = rounded(*comparison.ratio);
  }
  const PageLength length = page_length(request);
  json["page"] = length.shown(app::comparison_text(comparison, a, b));
  if (length.whole) json["record"] = app::comparison_json(comparison, a, b);
  return {.content = std::move(json)};
}

Answer compare_subjects(const Json& request, const Context& context, const Callbacks&) {
  const auto subject = [&](const char* side) {
    return app::find_subject(context.database, request[side].get<std::string>());
  };
  const app::SubjectComparison comparison =
      app::compare_subjects(context.database, subject("first"), subject("second"));
  Json json = app::subject_comparison_json(comparison);
  json["page"] = request.at("form") == "markdown" ? app::subject_comparison_markdown(comparison)
                                                  : app::subject_comparison_text(comparison);
  return {.content = std::move(json)};
}

}  // namespace ak::operations

// SPDX-License-Identifier: Apache-2.0
// What a kernel is like, and what two differ in.
#include <fmt/format.h>

#include "app/explain/ablation.h"
#include "app/explain/compared_kernels.h"
#include "app/explain/variant_comparison.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "codegen/emit/emit.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace ak::operations {
namespace {

// Pages are read by models: of a kernel with many shapes the beginning says most.
constexpr std::size_t kMaxExplanationBytes = 12'000;

std::string shown_page(const std::string& text) {
  if (text.size() <= kMaxExplanationBytes) return sanitize(text, text.size());
  return sanitize(text, kMaxExplanationBytes) + "\n[cut; `alphakernel explain` and `compare` print all]";
}

app::EvaluationOptions options_of(const Json& request, const Context& context, std::string_view name) {
  return {.device = request.value("device", ""),
          .arch = request.value("arch", ""),
          .command = fmt::format("{}: {}", context.caller, name),
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

Json explanation_brief(const app::StoredKernel& kernel, const codegen::RunSummary& summary) {
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
  json["page"] =
      shown_page(codegen::emit_explanation(*kernel.problem, kernel.candidate, kernel.stored.result, summary));
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
  return {.content = explanation_brief(kernel, app::stored_summary(context.database, kernel))};
}

Answer compare(const Json& request, const Context& context, const Callbacks&) {
  const app::KernelSubject first = subject_of(request["first"], request, context);
  app::KernelSubject second = subject_of(request["second"], request, context);
  if (first.problem->problem != second.problem->problem)
    fail(ExitCode::usage, "the first computes {}, the second {}: there is nothing to compare",
         first.problem->problem, second.problem->problem);
  // What is evaluated now is evaluated for one problem: that of the first.
  if (request.contains("device")) second.problem = first.problem;
  const auto [a, b] = app::compared_kernels(first, second, options_of(request, context, "compare"),
                                            context.config, context.database);
  const app::VariantComparison comparison = app::compare_variants(context.database, a, b);
  Json json{{"first", a.stored.variant}, {"second", b.stored.variant}, {"why", comparison.why}};
  if (comparison.ratio) {
    json["basis"] = comparison.basis;
    json["second_over_first"] = rounded(*comparison.ratio);
  }
  json["page"] = shown_page(app::comparison_text(comparison, a, b));
  return {.content = std::move(json)};
}

}  // namespace ak::operations

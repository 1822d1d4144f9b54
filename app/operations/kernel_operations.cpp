// SPDX-License-Identifier: Apache-2.0
// What is done with a kernel.
#include <fmt/format.h>

#include "app/audit/problem_audits.h"
#include "app/evaluate/counts_table.h"
#include "app/evaluate/profiling.h"
#include "app/evaluate/run_files.h"
#include "app/evaluate/single_evaluation.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "app/operations/page_length.h"
#include "app/predict/kernel_prediction.h"
#include "core/error.h"
#include "db/database.h"
#include "profiler/analysis/profile_page.h"

namespace ak::operations {
namespace {

Depth depth_of(const Json& request) {
  const std::string depth = request.at("depth");
  return depth == "build" ? Depth::build : depth == "check" ? Depth::check : Depth::time;
}

bool audited(const KernelTask& task, const Json& request, const Context& context) {
  return app::require_audit(*task.problem, request.at("unaudited").get<bool>(), context.config,
                            context.database);
}

/// The profile of one kernel for programs, all of it.
Json profile_record(const app::ProfiledKernel& kernel) {
  Json json = {{"evaluation", app::evaluation_json(kernel.result)}};
  if (kernel.launches.empty()) {
    json["degradation"] = kernel.profile.degradation;
    return json;
  }
  json["profile"] = profiler::profile_json(kernel.profile, kernel.launches);
  json["profile"]["passes"] = kernel.profile.passes;
  json["profile"]["setup_ms"] = kernel.profile.setup_ms;
  json["profile"]["collect_ms"] = kernel.profile.collect_ms;
  json["analysis"] = profiler::analysis_json(kernel.launches);
  return json;
}

Json bottleneck_json(const profiler::Finding& found) {
  Json json{{"name", found.name},
            {"title", found.title},
            {"evidence", found.evidence},
            {"sure", found.sure},
            {"try", Json::array()}};
  for (const profiler::Advice& advice : found.remedies)
    json["try"].push_back({{"what", advice.text}, {"at_most_times_faster", advice.at_most}});
  return json;
}

Json profile_json(const app::ProfiledKernel& kernel, const app::Target& target,
                  const app::ProfileOrder& order, const PageLength& length) {
  const Candidate& candidate = order.candidate;
  Json json{{"evaluation", brief(kernel.result, target, candidate.source)}};
  if (length.whole) {
    json["evaluation"]["page"] = app::evaluation_page(candidate.name, *order.problem, kernel.result);
    json["record"] = profile_record(kernel);
  }
  if (!kernel.profile.degradation.empty()) json["not_known"] = kernel.profile.degradation;
  if (kernel.launches.empty()) return json;
  json["shape"] = kernel.profile.workload;
  json["bottleneck"] = bottleneck_json(profiler::longest(kernel.launches)->analysis.bottleneck);
  json["page"] = length.shown(profiler::render_profile(kernel.profile, kernel.launches, candidate.source));
  return json;
}

/// The second kernel of a profile, where the request names one.
std::optional<Candidate> compared_candidate(const Json& request, const Context& context) {
  if (request.contains("compare_path"))
    return app::kernel_of_file(request["compare_path"].get<std::string>()).candidate;
  if (!request.contains("compare_variant")) return std::nullopt;
  const std::string variant = fmt::format("{}", request["compare_variant"].get<std::int64_t>());
  return app::kernel_of_variant(context.database, variant).candidate;
}

std::vector<const profiler::MetricInfo*> metrics_of(const Json& request) {
  auto metrics = profiler::parse_metrics(request.at("metrics").get<std::string>());
  if (!metrics) fail(ExitCode::usage, "metrics: {}", metrics.error().message);
  return std::move(metrics).value();
}

}  // namespace

Answer evaluate(const Json& request, const Context& context, const Callbacks&) {
  const KernelTask task = kernel_task(request, context);
  const app::Target target = target_of(request, context);
  const auto done = app::evaluate_once({.problem = task.problem,
                                        .candidate = task.kernel.candidate,
                                        .depth = depth_of(request),
                                        .command = command_of(context, "evaluate"),
                                        .audited = audited(task, request, context)},
                                       target, context.config, context.database);
  Json json = brief(done.result, target, task.kernel.candidate.source);
  json["problem"] = task.problem->definition.name;
  json["variant"] = done.stored.variant;
  if (page_length(request).whole) {
    json["record"] = app::evaluation_json(done.result);
    json["page"] = app::evaluation_page(task.kernel.candidate.name, *task.problem, done.result) +
                   app::counts_table(done.result);
  }
  if (!done.passed())
    json["next"] = fmt::format("explain_failure with variant {} says what the gate wants and what to try",
                               done.stored.variant);
  return {.content = std::move(json), .failed = !done.passed()};
}

Answer profile(const Json& request, const Context& context, const Callbacks&) {
  const KernelTask task = kernel_task(request, context);
  const app::Target target = target_of(request, context);
  if (!target.executes())
    fail(ExitCode::usage, "a profile needs a device that runs kernels: {}", target.notice);
  app::ProfileOrder order{.problem = task.problem,
                          .candidate = task.kernel.candidate,
                          .workload = request.value("workload", ""),
                          .metrics = metrics_of(request),
                          .sample_lines = request.at("lines").get<bool>(),
                          .command = command_of(context, "profile"),
                          .audited = audited(task, request, context)};
  const auto store = db::open_store(context.database);
  const app::ProfiledKernel kernel = app::profile_kernel(order, target, context.config, *store);
  const PageLength length = page_length(request);
  Json json = profile_json(kernel, target, order, length);
  const auto second = compared_candidate(request, context);
  if (!second || kernel.launches.empty())
    return {.content = std::move(json), .failed = kernel.launches.empty()};
  order.candidate = *second;
  const app::ProfiledKernel before = app::profile_kernel(order, target, context.config, *store);
  if (length.whole) json["record"]["compared_with"] = profile_record(before);
  if (!before.launches.empty())
    json["changed_from_compare_variant"] =
        length.shown(profiler::render_comparison(before.launches, kernel.launches));
  return {.content = std::move(json), .failed = before.launches.empty()};
}

Answer predict(const Json& request, const Context& context, const Callbacks&) {
  const KernelTask task = kernel_task(request, context);
  const app::PredictedKernel predicted = app::predict_kernel({.problem = task.problem,
                                                              .candidate = task.kernel.candidate,
                                                              .device = request.at("arch"),
                                                              .model = request.value("time_model", ""),
                                                              .count = request.at("counts").get<bool>()},
                                                             context.config, context.database);
  Json json{{"kernel", task.kernel.candidate.name}, {"arch", predicted.arch.sm()}};
  json.update(to_json(predicted));
  if (predicted.training.is_null())
    json["note"] = fmt::format(
        "{}no model is fitted for {}, so these are analytic times without an interval (alphakernel model "
        "fit)",
        predicted.note.empty() ? "" : predicted.note + "; ", predicted.arch.sm());
  return {.content = std::move(json)};
}

}  // namespace ak::operations

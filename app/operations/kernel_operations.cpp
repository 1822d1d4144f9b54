// SPDX-License-Identifier: Apache-2.0
// What is done with a kernel.
#include <fmt/format.h>

#include "app/audit/problem_audits.h"
#include "app/evaluate/profiling.h"
#include "app/evaluate/single_evaluation.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "app/predict/kernel_prediction.h"
#include "core/error.h"
#include "core/text/suggest.h"
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

// A page of one launch takes some 4 kB; of many launches the first ones say most.
constexpr std::size_t kMaxPageBytes = 12'000;

std::string page(const std::string& text) {
  if (text.size() <= kMaxPageBytes) return sanitize(text);
  return sanitize(text, kMaxPageBytes) + "\n[cut; `alphakernel profile` on the command line shows all]";
}

Json profile_brief(const app::ProfiledKernel& kernel, const app::Target& target, const Candidate& candidate) {
  Json json{{"evaluation", brief(kernel.result, target, candidate.source)}};
  if (!kernel.profile.degradation.empty()) json["not_known"] = kernel.profile.degradation;
  if (kernel.launches.empty()) return json;
  const profiler::Finding& found = profiler::longest(kernel.launches)->analysis.bottleneck;
  json["shape"] = kernel.profile.workload;
  json["bottleneck"] = {{"name", found.name},
                        {"title", found.title},
                        {"evidence", found.evidence},
                        {"sure", found.sure},
                        {"try", Json::array()}};
  for (const profiler::Advice& advice : found.remedies)
    json["bottleneck"]["try"].push_back({{"what", advice.text}, {"at_most_times_faster", advice.at_most}});
  json["page"] = page(profiler::render_profile(kernel.profile, kernel.launches, candidate.source));
  return json;
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
                                        .command = context.caller + ": evaluate",
                                        .audited = audited(task, request, context)},
                                       target, context.config, context.database);
  Json json = brief(done.result, target, task.kernel.candidate.source);
  json["problem"] = task.problem->definition.name;
  json["variant"] = done.stored.variant;
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
                          .sample_lines = true,
                          .command = context.caller + ": profile",
                          .audited = audited(task, request, context)};
  const auto store = db::open_store(context.database);
  const app::ProfiledKernel kernel = app::profile_kernel(order, target, context.config, *store);
  Json json = profile_brief(kernel, target, order.candidate);
  if (request.contains("compare_variant") && !kernel.launches.empty()) {
    order.candidate = app::kernel_of_variant(
                          context.database, fmt::format("{}", request["compare_variant"].get<std::int64_t>()))
                          .candidate;
    const app::ProfiledKernel before = app::profile_kernel(order, target, context.config, *store);
    json["changed_from_compare_variant"] =
        page(profiler::render_comparison(before.launches, kernel.launches));
  }
  return {.content = std::move(json), .failed = kernel.launches.empty()};
}

Answer predict(const Json& request, const Context& context, const Callbacks&) {
  const KernelTask task = kernel_task(request, context);
  const Result<Arch> arch = parse_arch(request.at("arch").get<std::string>());
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  const app::PredictedKernel predicted =
      app::predict_kernel({.problem = task.problem, .candidate = task.kernel.candidate, .arch = *arch},
                          context.config, context.database);
  Json json = to_json(predicted);
  json["arch"] = arch->sm();
  if (predicted.training.is_null())
    json["note"] = "no model is fitted for this target, so these are analytic times without an interval";
  return {.content = std::move(json)};
}

}  // namespace ak::operations

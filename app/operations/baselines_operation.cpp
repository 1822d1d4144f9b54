// SPDX-License-Identifier: Apache-2.0
// A kernel in turns with baselines.
#include "app/audit/problem_audits.h"
#include "app/baselines/kernel_baselines.h"
#include "app/baselines/pytorch_turns.h"
#include "app/evaluate/single_evaluation.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "core/error.h"
#include "db/store/turn_rows.h"

namespace ak::operations {
namespace {

app::BaselinesOrder order_of(const Json& request, const KernelTask& task) {
  app::BaselinesOrder order{.problem = task.problem,
                            .candidate = task.kernel.candidate,
                            .baselines = app::parse_baselines(request.at("baselines")),
                            .workloads = {},
                            .rounds = request.value("rounds", app::kTurnRounds),
                            .libraries = request.at("libraries"),
                            .rehearse = request.at("rehearse")};
  const std::string workload = request.value("workload", "");
  if (!workload.empty()) order.workloads.push_back(workload);
  if (!workload.empty() &&
      std::ranges::find(task.problem->workloads, workload, &Workload::name) == task.problem->workloads.end())
    fail(ExitCode::usage, "{} has no workload '{}'", task.problem->definition.name, workload);
  return order;
}

/// Its checks and times, which turns do not repeat; they belong to this evaluation.
app::SingleEvaluation checked(const Json& request, const Context& context, const KernelTask& task,
                              const app::Target& target) {
  return app::evaluate_once({.problem = task.problem,
                             .candidate = task.kernel.candidate,
                             .command = command_of(context, "baselines"),
                             .audited = app::require_audit(*task.problem, request.at("unaudited").get<bool>(),
                                                           context.config, context.database)},
                            target, context.config, context.database);
}

}  // namespace

Answer time_baselines(const Json& request, const Context& context, const Callbacks& callbacks) {
  const KernelTask task = kernel_task(request, context);
  const app::BaselinesOrder order = order_of(request, task);
  const app::Target target = target_of(request, context);
  if (target.kind != DeviceKind::cuda && !order.rehearse)
    fail(ExitCode::usage, "baselines are timed on a GPU, and there is none to run on{}{}",
         target.notice.empty() ? "" : ": ", target.notice);
  std::optional<app::SingleEvaluation> done;
  if (!order.rehearse) {
    done = checked(request, context, task, target);
    if (!done->passed())
      return {.content = {{"problem", task.problem->definition.name},
                          {"evaluation", brief(done->result, target, task.kernel.candidate.source)},
                          {"turns", Json::array()},
                          {"notes", Json::array({"the kernel did not pass its checks"})}},
              .failed = true};
  }
  const auto tell = [&](std::string_view what) {
    if (callbacks.on_event) callbacks.on_event("step", {{"what", what}});
  };
  const app::KernelBaselines found = app::time_in_turns(order, target, context.config, tell, callbacks.stop);
  if (done) db::store_turns(context.database, done->stored.evaluation, found.turns);
  Json json = app::baselines_json(found);
  json["problem"] = task.problem->definition.name;
  if (done) json["variant"] = done->stored.variant;
  json["page"] = app::baselines_text(found);
  return {.content = std::move(json), .failed = found.turns.empty()};
}

}  // namespace ak::operations

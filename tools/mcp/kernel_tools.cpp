// SPDX-License-Identifier: Apache-2.0
// What is done with a kernel.
#include <fmt/format.h>

#include "tools/mcp/evaluation_brief.h"
#include "tools/mcp/kernel_arguments.h"
#include "tools/problem_audits.h"
#include "tools/single_evaluation.h"

namespace ak::mcp {
namespace {

Depth depth_of(const Json& arguments) {
  const std::string depth = arguments.value("depth", "time");
  return depth == "build" ? Depth::build : depth == "check" ? Depth::check : Depth::time;
}

bool audited(const KernelTask& task, const Json& arguments, const ToolContext& context) {
  return tools::require_audit(*task.problem, arguments.value("unaudited", false), context.config, context.database);
}

}  // namespace

ToolAnswer evaluate(const Json& arguments, const ToolContext& context) {
  const KernelTask task = kernel_task(arguments, context);
  const tools::Target target = target_of(arguments, context);
  const auto done = tools::evaluate_once({.problem = task.problem,
                                          .candidate = task.kernel.candidate,
                                          .depth = depth_of(arguments),
                                          .command = "alphakernel mcp: evaluate",
                                          .audited = audited(task, arguments, context)},
                                         target, context.config, context.database);
  Json json = brief(done.result, target, task.kernel.candidate.source);
  json["problem"] = task.problem->definition.name;
  json["variant"] = done.stored.variant;
  if (!done.passed())
    json["next"] = fmt::format("explain_failure with variant {} says what the gate wants and what to try",
                               done.stored.variant);
  return {.content = std::move(json), .failed = !done.passed()};
}

}  // namespace ak::mcp

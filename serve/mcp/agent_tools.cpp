// SPDX-License-Identifier: Apache-2.0
// What a coding agent has that a search asked a question (docs/coding_agents.md): an `evaluate` that the search answers,
// and few of the other tools.
#include <algorithm>
#include <array>

#include "app/operations/operation_schema.h"
#include "serve/mcp/tool.h"

namespace ak::mcp {
namespace {

using operations::Field, operations::Presence;

constexpr std::array<std::string_view, 4> kSharedTools{"query", "job_status", "job_result", "job_cancel"};

/// Of kernels that `evaluate` has stored: everything that an agent has evaluated is to be a row of the search.
struct NarrowTool {
  std::string_view name, description;
  std::vector<std::string_view> parameters;
};
std::span<const NarrowTool> narrow_tools() {
  static const std::array table{
      NarrowTool{
          .name = "profile",
          .description = "What limits a kernel that evaluate has answered, and what could be done: hardware "
                         "counters and hot lines on a GPU, exact counts on the CPU device. What takes long "
                         "answers with a job.",
          .parameters = {"variant", "workload", "metrics", "compare_variant", "lines", "detail", "wait_s"}},
      NarrowTool{.name = "explain",
                 .description =
                     "What a kernel that evaluate has answered does, which optimisations and tunables were "
                     "measured and what each is worth, what limits it, and what was checked.",
                 .parameters = {"variant", "detail", "wait_s"}}};
  return table;
}

Tool narrowed(Tool tool, const NarrowTool& narrow) {
  tool.description = narrow.description;
  std::erase_if(tool.parameters, [&](const auto& parameter) {
    return std::ranges::find(narrow.parameters, parameter.name) == narrow.parameters.end();
  });
  for (auto& parameter : tool.parameters)
    if (parameter.name == "variant") parameter.required = true;
  return tool;
}

Json evaluate_answer() {
  const std::vector<Field> fields{
      {.name = "passed", .kind = ValueKind::flag, .help = "it is right on every shape"},
      {.name = "outcome", .help = "the verdict with its findings and lines; times by shape"},
      {.name = "time_ns",
       .kind = ValueKind::number,
       .help = "its score",
       .unit = "ns",
       .presence = Presence::maybe},
      {.name = "speedup_over_parent",
       .kind = ValueKind::number,
       .help = "the parent's time over its own",
       .presence = Presence::maybe},
      {.name = "limits", .help = "what limits it, and what to try", .presence = Presence::maybe},
      {.name = "variant", .kind = ValueKind::integer, .help = "its row in variants, for profile and explain"},
      {.name = "evaluations_left",
       .kind = ValueKind::integer,
       .help = "calls of evaluate and profile that are left"}};
  // The answer, or the job that it will come from.
  return {{"type", "object"}, {"anyOf", {operations::fields_schema(fields), {{"required", {"job"}}}}}};
}

Tool evaluate_tool() {
  return {.name = "evaluate",
          .title = "Evaluate a kernel",
          .description =
              "Builds, checks and times a kernel for the problem of question.md, in the search that "
              "asks it. What takes long answers with a job.",
          .parameters = {{.name = "source", .help = "the kernel file's text"},
                         {.name = "path", .help = "or a file in the question's folder"},
                         {.name = "tunables",
                          .kind = ValueKind::table,
                          .help = "or a point of the parent's tunables"},
                         {.name = "wait_s",
                          .kind = ValueKind::number,
                          .help = "seconds to wait before the answer is a job (default 10)",
                          .minimum = 0,
                          .maximum = 600}},
          .output_schema = evaluate_answer(),
          .lane = Lane::job,
          .read_only = false};
}

std::vector<Tool> make_agent_table() {
  std::vector<Tool> table{evaluate_tool()};
  for (const NarrowTool& narrow : narrow_tools()) table.push_back(narrowed(*find_tool(narrow.name), narrow));
  for (const Tool& tool : all_tools())
    if (std::ranges::find(kSharedTools, tool.name) != kSharedTools.end()) table.push_back(tool);
  return table;
}

}  // namespace

std::span<const Tool> agent_tools() {
  static const std::vector<Tool> table = make_agent_table();
  return table;
}

}  // namespace ak::mcp

// SPDX-License-Identifier: Apache-2.0
// The operations as tools, and the tools for jobs, which only this server has.
#include <algorithm>

#include "app/operations/operation_schema.h"
#include "app/operations/request_check.h"
#include "serve/mcp/tool.h"

namespace ak::mcp {
namespace {

using operations::Field, operations::Operation, operations::Presence;

constexpr const char* kWait = "wait_s";

Parameter wait_parameter(std::string_view help) {
  return {.name = kWait, .kind = ValueKind::number, .help = help, .minimum = 0, .maximum = 600};
}

const Parameter kJob{.name = "job", .help = "name of the job, e.g. job-1", .required = true};

std::vector<Field> job_fields() {
  return {{.name = "job", .help = "its name; empty: its answer came at once"},
          {.name = "tool", .help = "what is at work"},
          {.name = "state", .help = "queued, running, done or cancelled"},
          {.name = "elapsed_s", .kind = ValueKind::number, .help = "since it was asked for", .unit = "s"},
          {.name = "notes", .help = "what it said on the way", .presence = Presence::maybe},
          {.name = "note", .help = "what to do now", .presence = Presence::maybe}};
}

/// The answer, or the job that it will come from.
Json answer_or_job(Json answer) {
  return {{"type", "object"}, {"anyOf", {std::move(answer), operations::fields_schema(job_fields())}}};
}

Tool tool_of(const Operation& operation) {
  const operations::Effects& effects = operation.effects;
  const bool own_sql = operation.run == operations::query_database;
  Tool tool{.name = operation.name,
            .title = operation.title,
            .description = std::string(operation.summary),
            .parameters = operation.parameters,
            .output_schema = operations::fields_schema(operation.answer),
            .lane = effects.takes_long ? Lane::job : (own_sql ? Lane::query : Lane::quick),
            .read_only = !effects.writes_database && !effects.writes_files,
            .overwrites = effects.writes_files,
            .operation = &operation};
  if (tool.lane == Lane::job) {
    tool.description += " What takes long answers with a job.";
    tool.parameters.push_back(wait_parameter("seconds to wait before the answer is a job (default 10)"));
    tool.output_schema = answer_or_job(std::move(tool.output_schema));
  }
  return tool;
}

Json any_object() { return {{"type", "object"}}; }

std::vector<Tool> job_tools() {
  return {
      {.name = "job_status",
       .title = "Status of jobs",
       .description = "State of a job, or of all jobs of this connection, without waiting.",
       .parameters = {{.name = "job", .help = "name of the job; none: all of them"}},
       .output_schema = any_object(),
       .lane = Lane::server},
      {.name = "job_result",
       .title = "Result of a job",
       .description = "Waits for a job and answers what its tool answers; still a job when it takes longer.",
       .parameters = {kJob, wait_parameter("seconds to wait (default 30)")},
       .output_schema = any_object(),
       .lane = Lane::server},
      {.name = "job_cancel",
       .title = "Cancel a job",
       .description = "Stops a job at once; it has no result then.",
       .parameters = {kJob},
       .output_schema = operations::fields_schema(job_fields()),
       .lane = Lane::server,
       .read_only = false}};
}

std::vector<Tool> make_table() {
  std::vector<Tool> table;
  for (const Operation& operation : operations::all_operations()) table.push_back(tool_of(operation));
  for (Tool& tool : job_tools()) table.push_back(std::move(tool));
  return table;
}

}  // namespace

std::span<const Tool> all_tools() {
  static const std::vector<Tool> table = make_table();
  return table;
}

const Tool* find_tool(std::span<const Tool> tools, std::string_view name) {
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found == tools.end() ? nullptr : &*found;
}

Json tool_json(const Tool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", operations::request_schema(tool.parameters)},
          {"outputSchema", tool.output_schema},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", tool.read_only},
            {"destructiveHint", tool.overwrites},
            {"idempotentHint", tool.read_only},
            {"openWorldHint", false}}}};
}

std::string argument_error(const Tool& tool, const Json& arguments) {
  return operations::request_error(tool.name, tool.parameters, arguments);
}

Json operation_request(const Json& arguments) {
  Json request = arguments;
  request.erase(kWait);
  return request;
}

}  // namespace ak::mcp

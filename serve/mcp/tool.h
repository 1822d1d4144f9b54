// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/operations/operation.h"

namespace ak::mcp {

using operations::Parameter, operations::ValueKind;

/// How a call is run.
enum class Lane : std::uint8_t {
  server,  ///< by the server itself, which alone knows the jobs
  quick,   ///< awaited
  query,   ///< awaited; the client's own SQL, which may take all the time and memory that one query gets
  job,     ///< awaited for some seconds, then a job that the client asks for
};

/// What a tool answers: an object, sized for a model.
using ToolAnswer = operations::Answer;

/// An operation as the protocol offers it, or one of the server's own tools for jobs.
struct Tool {
  std::string_view name, title;
  std::string description;
  std::vector<Parameter> parameters = {};
  Json output_schema;
  Lane lane = Lane::quick;
  bool read_only = true;    ///< changes no file of the user's and no row of the database
  bool overwrites = false;  ///< may replace a file where it is asked to
  const operations::Operation* operation = nullptr;  ///< null for Lane::server
};

/// In the order they are listed: the operations, then those for jobs.
[[nodiscard]] std::span<const Tool> all_tools();
/// Of a coding agent that a search has asked: its question is all that it may work on.
[[nodiscard]] std::span<const Tool> agent_tools();
/// Null where there is none among these.
[[nodiscard]] const Tool* find_tool(std::span<const Tool> tools, std::string_view name);
[[nodiscard]] inline const Tool* find_tool(std::string_view name) { return find_tool(all_tools(), name); }

/// As tools/list shows it.
[[nodiscard]] Json tool_json(const Tool& tool);
/// What is wrong with the arguments of a call; empty when nothing is.
[[nodiscard]] std::string argument_error(const Tool& tool, const Json& arguments);

/// The arguments of a call without those that are the server's: a request for the tool's operation.
[[nodiscard]] Json operation_request(const Json& arguments);

}  // namespace ak::mcp

// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tool_main.h"

#include <fmt/format.h>

#include <exception>

#include "app/llm/agent_calls.h"
#include "core/error.h"
#include "core/text/file_checks.h"
#include "core/text/json_line.h"
#include "core/text/print_stderr.h"

namespace ak::mcp {
namespace {

/// A kernel's text is more than a note has room for.
void note_event(std::string_view event, Json data) {
  data.erase("source");
  print_stderr("{} {}\n", event, one_line(data));
}

ToolAnswer run_tool(const std::string& name, const Json& request, const operations::Context& context,
                    const std::filesystem::path& agent_folder) {
  const operations::Callbacks callbacks{.on_event = note_event};
  if (agent_folder.empty())
    return operations::call(operations::operation_named(name), request, context, callbacks);
  const Tool* tool = find_tool(agent_tools(), name);
  if (tool == nullptr) fail(ExitCode::usage, "'{}' is no tool of a coding agent's question", name);
  if (const std::string wrong = argument_error(*tool, request); !wrong.empty())
    fail(ExitCode::usage, "{}", wrong);
  if (tool->operation == nullptr) return app::evaluate_for_agent(agent_folder, request);
  return app::run_for_agent(agent_folder, *tool->operation, request, context, callbacks);
}

}  // namespace

int tool_main(const std::string& name, const operations::Context& context,
              const std::filesystem::path& agent_folder) {
  Json written;
  try {
    const ToolAnswer answer = run_tool(name, try_parse_json(read_standard_input()), context, agent_folder);
    written = {{"content", answer.content}, {"failed", answer.failed}};
  } catch (const Error& error) {
    written = {{"error", error.what()}};
  } catch (const std::exception& error) {
    written = {{"error", error.what()}};
  }
  fmt::print("{}\n", one_line(written));
  return 0;
}

}  // namespace ak::mcp

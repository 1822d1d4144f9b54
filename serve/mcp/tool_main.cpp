// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tool_main.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/file.h"
#include "serve/mcp/json_rpc.h"

namespace ak::mcp {
namespace {

ToolAnswer run(const std::string& name, const ToolContext& context) {
  const Tool* tool = find_tool(name);
  if (tool == nullptr || tool->run == nullptr) fail(ExitCode::usage, "there is no tool '{}' to run", name);
  const Json arguments = try_parse_json(read_file("/dev/stdin"));
  if (const std::string wrong = argument_error(*tool, arguments); !wrong.empty())
    fail(ExitCode::usage, "{}", wrong);
  return tool->run(arguments, context);
}

}  // namespace

int tool_main(const std::string& name, const ToolContext& context) {
  Json written;
  try {
    const ToolAnswer answer = run(name, context);
    written = {{"content", answer.content}, {"failed", answer.failed}};
  } catch (const Error& error) {
    written = {{"error", error.what()}};
  }
  fmt::print("{}\n", one_line(written));
  return 0;
}

}  // namespace ak::mcp

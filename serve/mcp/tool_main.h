// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "serve/mcp/tool.h"

namespace ak::mcp {

/// The process of one call (ToolJobs): reads a request, a JSON object, from standard input and prints one
/// line: {"content": {...}, "failed": false} or {"error": "..."}. What happens on the way is a line each on
/// standard error. Returns the exit code.
/// @param agent_folder of the question to a coding agent that calls; empty: none does
int tool_main(const std::string& name, const operations::Context& context,
              const std::filesystem::path& agent_folder = {});

}  // namespace ak::mcp

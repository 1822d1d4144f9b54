// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/api/provider.h"

namespace ak::agent {

/// "agent": the provider's name.
inline constexpr std::string_view kAgentProvider = "agent";

/// How a coding agent is started.
struct AgentProgram {
  std::string name;
  std::vector<std::string> argv;         ///< with the words "{folder}", "{prompt}" and the like
  std::vector<std::string> environment;  ///< names of the variables that it gets, and no other
};

/// Its command line is known: an entry of the configuration may add variables alone.
[[nodiscard]] bool is_known_agent(std::string_view name);

/// The agent of "agent:NAME": a command of the configuration, one of those that are known (codex, claude), or a program
/// by its path or name. Throws Error(usage) where the name is empty.
[[nodiscard]] AgentProgram agent_program(const std::string& name,
                                         const std::map<std::string, LlmCommand>& commands);

/// Its command line for a question in `folder`, whose server of the protocol is started by `server`.
[[nodiscard]] std::vector<std::string> agent_arguments(const AgentProgram& agent,
                                                       const std::filesystem::path& folder,
                                                       const std::vector<std::string>& server,
                                                       const std::map<std::string, std::string>& variables);

}  // namespace ak::agent

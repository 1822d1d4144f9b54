// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/coding_agent/agent_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/text/json.h"
#include "core/text/json_line.h"

namespace ak::agent {
namespace {

constexpr const char* kPrompt =
    "Read question.md in this folder and do what it asks. Write your answer into answer.md in this folder.";

// What a program needs to find itself, its user and the network.
constexpr std::array<std::string_view, 20> kForEveryAgent{
    "PATH",      "HOME",     "USER",     "LOGNAME",       "SHELL",        "TERM",           "LANG",
    "LC_ALL",    "TZ",       "TMPDIR",   "HTTP_PROXY",    "http_proxy",   "HTTPS_PROXY",    "https_proxy",
    "ALL_PROXY", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CONFIG_HOME"};

/// An agent whose command line is known: its tools are the server's and those that read and write files here. It gets the
/// keys that are its own by their names, and none that this program uses itself.
struct KnownAgent {
  std::string_view name;
  std::vector<std::string_view> argv, environment;
};

std::span<const KnownAgent> known_agents() {
  static const std::array table{
      KnownAgent{.name = "codex",
                 .argv = {"codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write",
                          "--cd", "{folder}", "-c", "mcp_servers.alphakernel={server_toml}", "{prompt}"},
                 .environment = {"OPENAI_BASE_URL", "CODEX_HOME", "CODEX_API_KEY"}},
      KnownAgent{
          .name = "claude",
          .argv = {"claude", "-p", "{prompt}", "--mcp-config", "{folder}/mcp.json", "--strict-mcp-config",
                   "--allowedTools", "mcp__alphakernel,Read,Write,Edit,Glob,Grep", "--output-format", "json"},
          .environment = {"ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN",
                          "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "NODE_EXTRA_CA_CERTS"}},
  };
  return table;
}

std::vector<std::string> for_every_agent() { return {kForEveryAgent.begin(), kForEveryAgent.end()}; }

/// A text of JSON without line ends is one of TOML, too.
std::string toml_text(const std::string& text) { return one_line(Json(text)); }

/// The server's entry as an inline table of TOML.
std::string server_toml(const std::vector<std::string>& server,
                        const std::map<std::string, std::string>& variables) {
  std::string arguments, environment;
  for (std::size_t i = 1; i < server.size(); ++i)
    arguments += fmt::format("{}{}", i > 1 ? ", " : "", toml_text(server[i]));
  for (const auto& [name, value] : variables)
    environment +=
        fmt::format("{}{} = {}", environment.empty() ? "" : ", ", toml_text(name), toml_text(value));
  return fmt::format(
      "{{command = {}, args = [{}], env = {{{}}}, required = true, tool_timeout_sec = 700, "
      "default_tools_approval_mode = \"approve\"}}",
      toml_text(server.front()), arguments, environment);
}

void replace_all(std::string& text, std::string_view word, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size())
    text.replace(at, word.size(), value);
}

AgentProgram named_program(const std::string& name, const std::map<std::string, LlmCommand>& commands) {
  if (name.empty()) fail(ExitCode::usage, "name a coding agent: agent:codex, agent:claude or agent:COMMAND");
  const auto own = commands.find(name);
  if (own != commands.end() && !own->second.argv.empty())
    return {.name = name, .argv = own->second.argv, .environment = own->second.environment};
  AgentProgram agent{.name = name, .argv = {name}, .environment = for_every_agent()};
  const auto known = std::ranges::find(known_agents(), name, &KnownAgent::name);
  if (known == known_agents().end()) return agent;
  const auto add = [&](const auto& names) {
    agent.environment.insert(agent.environment.end(), names.begin(), names.end());
  };
  agent.argv.assign(known->argv.begin(), known->argv.end());
  add(known->environment);
  if (own != commands.end()) add(own->second.environment);
  return agent;
}

}  // namespace

bool is_known_agent(std::string_view name) {
  return std::ranges::find(known_agents(), name, &KnownAgent::name) != known_agents().end();
}

/// An agent works in a folder of its own, where a path that is relative to this one leads nowhere.
AgentProgram agent_program(const std::string& name, const std::map<std::string, LlmCommand>& commands) {
  AgentProgram agent = named_program(name, commands);
  std::string& program = agent.argv.front();
  if (program.find('/') != std::string::npos)
    program = std::filesystem::absolute(program).lexically_normal().string();
  return agent;
}

std::vector<std::string> agent_arguments(const AgentProgram& agent, const std::filesystem::path& folder,
                                         const std::vector<std::string>& server,
                                         const std::map<std::string, std::string>& variables) {
  std::vector<std::string> argv = agent.argv;
  for (std::string& word : argv) {
    replace_all(word, "{folder}", folder.string());
    replace_all(word, "{prompt}", kPrompt);
    replace_all(word, "{server_toml}", server_toml(server, variables));
  }
  return argv;
}

}  // namespace ak::agent

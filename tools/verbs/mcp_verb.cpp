// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>

#include "app/setup/config.h"
#include "app/setup/program_paths.h"
#include "runtime/process/supervisor.h"
#include "serve/mcp/mcp_server.h"
#include "serve/mcp/tool_main.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

/// Starts a tool of this server: worker_command() names the program.
std::vector<std::string> tool_command(const std::string& database, const std::string& agent_folder) {
  std::vector<std::string> command{app::worker_command().front(), "mcp"};
  if (!agent_folder.empty()) command.insert(command.end(), {"--agent", agent_folder});
  if (!database.empty()) command.insert(command.end(), {"--db", database});
  command.emplace_back("--tool");
  return command;
}

int run_mcp(const app::Arguments& arguments) {
  CLI::App app{
      "Serve coding agents over the Model Context Protocol on standard input and output, until the input "
      "ends.",
      "alphakernel mcp"};
  set_style(app, "How to add it to your agent: docs/mcp.md\n");
  std::string database, tool, agent_folder;
  app.add_option("--db", database, "performance database");
  app.add_option("--tool", tool,
                 "run one tool on arguments from standard input; how the server calls itself");
  app.add_option("--agent", agent_folder,
                 "serve a coding agent whose question lies in this folder; how a search calls it "
                 "(docs/coding_agents.md)");
  if (!parse(app, arguments)) return 0;
  if (!agent_folder.empty()) runtime::lift_file_limit();
  if (!tool.empty()) {
    const app::Config config = app::load_config();
    return mcp::tool_main(tool,
                          {.config = config,
                           .database = app::database_file(database, config),
                           .caller = agent_folder.empty() ? "alphakernel mcp" : "alphakernel mcp --agent"},
                          agent_folder);
  }
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is seen where its answer is written
  mcp::Server(STDIN_FILENO, STDOUT_FILENO, tool_command(database, agent_folder), AK_VERSION,
              agent_folder.empty() ? mcp::all_tools() : mcp::agent_tools())
      .run();
  return 0;
}

}  // namespace

const Verb kMcpVerb{"mcp", "serve coding agents over the Model Context Protocol", run_mcp, kServeVerbs};

}  // namespace ak::tools

// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/coding_agent/agent_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "agent/llm/api/redact.h"
#include "agent/llm/mailbox/mailbox_client.h"
#include "core/error.h"
#include "core/text/file.h"

namespace ak::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead =
    "# Question {name}\n\n"
    "A search for a fast CUDA kernel asks this and waits for an answer. You may try kernels before you "
    "answer.\n\n"
    "- Write the answer into the file `answer.md` of this folder, in one of the forms that the instructions "
    "below describe.\n"
    "  Its first line may be `answers: {name}`. The search takes it when you have ended.\n"
    "- The MCP server `alphakernel` (started as `mcp.json` says) has the tools `evaluate`, `profile`, "
    "`explain` and `query`.\n"
    "  `evaluate` has a kernel of this problem checked and timed by the search that asks: {evaluations} "
    "calls of it and of `profile`\n"
    "  at most. `profile` and `explain` take the `variant` that it answers. What takes long answers with a "
    "job: call `job_result` for it.\n"
    "- You have {time}{money}. Then the search ends you, and takes what is in `answer.md`, else "
    "the "
    "fastest kernel\n"
    "  that passed `evaluate`.\n"
    "- `candidate.md` says how a kernel file is written{parent}.\n"
    "- Where nobody counts your tokens, write what you used into `usage.json`: "
    "{{\"input_tokens\": 1, \"output_tokens\": 1, \"cost_usd\": 0.1}}.\n";

/// Throws Error(output).
fs::path new_folder() {
  std::error_code none;
  const fs::path place = fs::temp_directory_path(none);
  std::string name = ((none ? fs::path("/tmp") : place) / "alphakernel-agent-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    fail(ExitCode::output, "cannot make a folder for a coding agent, {}: {}", name, std::strerror(errno));
  return name;
}

MailQuestion question_of(const LlmRequest& request) {
  const Json& about = request.about;
  const bool told = about.is_object() && about.contains("id");
  return {.number = told ? about.value("asked", 0) : 0, .id = told ? about.value("id", "") : ""};
}

std::string head(const std::string& name, const LlmRequest& request, const CodingAgentSettings& settings) {
  const bool has_parent = request.about.is_object() && request.about.contains("parent_source");
  return fmt::format(
      fmt::runtime(kHead), fmt::arg("name", name), fmt::arg("evaluations", settings.most_evaluations),
      fmt::arg("time", time_in_words(settings.most_time)),
      fmt::arg("money", settings.most_usd ? fmt::format(" and {:.2f} US dollars", *settings.most_usd) : ""),
      fmt::arg("parent", has_parent ? "; `parent.cu` is the whole parent that the question is about" : ""));
}

std::vector<std::string> server_command(const fs::path& folder, const CodingAgentSettings& settings) {
  std::vector<std::string> command{settings.program.string(), "mcp", "--agent", folder.string()};
  if (!settings.database.empty()) command.insert(command.end(), {"--db", settings.database.string()});
  return command;
}

Json mcp_json(const std::vector<std::string>& server, const std::map<std::string, std::string>& variables) {
  const std::vector<std::string> arguments(server.begin() + 1, server.end());
  return {{"mcpServers",
           {{"alphakernel",
             {{"type", "stdio"}, {"command", server.front()}, {"args", arguments}, {"env", variables}}}}}};
}

std::string as_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string time_in_words(std::chrono::milliseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  return seconds < 60 ? fmt::format("{:.3g} seconds", seconds) : fmt::format("{:.3g} minutes", seconds / 60);
}

AgentFolder::AgentFolder(const LlmRequest& request, const CodingAgentSettings& settings)
    : path_(new_folder()),
      held_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
      held_path_(fmt::format("/proc/self/fd/{}", held_.get())),
      question_(question_of(request).name()),
      server_(server_command(path_, settings)) {
  try {
    if (!held_) fail(ExitCode::output, "cannot open {}: {}", path_.string(), std::strerror(errno));
    write(request, settings);
  } catch (...) {
    std::error_code gone;
    fs::remove_all(path_, gone);
    throw;
  }
}

/// Wherever the agent has moved it, and what it has put in its place.
AgentFolder::~AgentFolder() {
  std::error_code gone;
  const fs::path now = fs::read_symlink(held_path_, gone);
  if (!gone) fs::remove_all(now, gone);
  fs::remove_all(path_, gone);
}

void AgentFolder::write(const LlmRequest& request, const CodingAgentSettings& settings) const {
  Json about = request.about.is_object() ? request.about : Json::object();
  Redactor().redact(about);
  const std::string parent = about.value("parent_source", "");
  about.erase("parent_source");
  about["name"] = question_;
  about["device_option"] = settings.device;
  about["evaluations"] = settings.most_evaluations;
  if (!parent.empty()) write_file_atomically(path_ / "parent.cu", parent);
  write_file_atomically(path_ / "candidate.md", settings.contract);
  write_file_atomically(path_ / "question.json", as_text(about));
  write_file_atomically(path_ / "mcp.json", as_text(mcp_json(server_, settings.server_variables)));
  write_file_atomically(path_ / "question.md", head(question_, request, settings) + request_text(request));
}

}  // namespace ak::agent

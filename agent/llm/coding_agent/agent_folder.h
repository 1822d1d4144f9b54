// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agent/llm/api/provider.h"
#include "core/llm.h"
#include "core/text/file.h"

namespace ak::agent {

/// "30 minutes", "1.5 seconds".
[[nodiscard]] std::string time_in_words(std::chrono::milliseconds time);

/// A folder of its own for one question to a coding agent: question.md, question.json, parent.cu, candidate.md and
/// mcp.json (docs/coding_agents.md). It is readable by its owner alone, and goes with this object.
class AgentFolder {
 public:
  /// Throws Error(output) where there is no room for it.
  AgentFolder(const LlmRequest& request, const CodingAgentSettings& settings);
  ~AgentFolder();
  AgentFolder(const AgentFolder&) = delete;
  AgentFolder& operator=(const AgentFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The same folder for this process, whatever lies in its place by now.
  [[nodiscard]] const std::filesystem::path& held() const { return held_path_; }
  /// What an answer calls the question: "0007-3f9c2a10".
  [[nodiscard]] const std::string& question() const { return question_; }
  /// Starts the server of the protocol for this question.
  [[nodiscard]] const std::vector<std::string>& server() const { return server_; }

 private:
  void write(const LlmRequest& request, const CodingAgentSettings& settings) const;

  std::filesystem::path path_;
  FileDescriptor held_;
  std::filesystem::path held_path_;
  std::string question_;
  std::vector<std::string> server_;
};

}  // namespace ak::agent

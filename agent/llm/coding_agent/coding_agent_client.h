// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "agent/llm/api/child_program.h"
#include "agent/llm/api/provider.h"
#include "agent/llm/coding_agent/agent_folder.h"
#include "agent/llm/coding_agent/agent_program.h"
#include "agent/llm/coding_agent/trial_files.h"

namespace ak::agent {

/// Has a coding agent answer: a program of the user's that works in a folder of its own, tries kernels with the tools
/// of an MCP server, whose evaluations the search makes (take_trial), and leaves its answer as a file. It is a child
/// process with a supervisor, which ends it with all that it started when its time is up, the call is cancelled, or this
/// process ends. An agent that leaves no answer that can be taken has answered with the fastest kernel that passed.
class CodingAgentClient final : public LlmClient {
 public:
  CodingAgentClient(AgentProgram agent, CodingAgentSettings settings, ModelEntry model)
      : agent_(std::move(agent)), settings_(std::move(settings)), model_(std::move(model)) {}

  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;
  [[nodiscard]] bool takes_facts() const override { return true; }
  [[nodiscard]] std::optional<LlmTrial> take_trial() override;
  void answer_trial(std::uint64_t ticket, Json result) override;

 private:
  /// Of the question that is asked now. With the mutex.
  struct Work {
    explicit Work(const std::filesystem::path& folder) : files(folder) {}
    TrialFiles files;
    std::deque<LlmTrial> waiting;                ///< not taken yet
    std::map<std::uint64_t, std::string> asked;  ///< names of those that are not answered yet
    std::map<std::uint64_t, std::string> texts;  ///< of these, as an answer would have it
    std::int64_t calls = 0;
    std::int64_t counted = 0;  ///< of these, that run kernels
    std::optional<double> best_ns = {};
    std::string best_text = {};
  };
  [[nodiscard]] std::optional<LlmFailure> look(Work& work);
  void begin(Work& work, const std::string& name);
  [[nodiscard]] Json left(const Work& work, Json answer) const;
  [[nodiscard]] std::optional<LlmFailure> overspent(const std::filesystem::path& folder) const;
  [[nodiscard]] LlmReply answered(const AgentFolder& folder, const ProgramOutput& output);
  void count(const AgentFolder& folder, const ProgramOutput& output, const LlmRequest& request,
             LlmReply& reply) const;

  AgentProgram agent_;
  CodingAgentSettings settings_;
  ModelEntry model_;
  std::mutex mutex_;  ///< of what follows
  std::optional<Work> work_;
  std::uint64_t last_ticket_ = 0;
};

/// A kernel's source, or an answer, in a form that an answer may have.
[[nodiscard]] std::string as_answer(std::string text);

}  // namespace ak::agent

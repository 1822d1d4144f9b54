// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/mcp/tool.h"
#include "serve/mcp/tool_process.h"

namespace ak::mcp {

using std::chrono::steady_clock;

enum class JobState : std::uint8_t { queued, running, done, cancelled };

/// One call of a tool, from its submission until no one can ask for it any more.
struct ToolJob {
  std::string name;  ///< "job-3"; empty until the client knows it
  const Tool* tool = nullptr;
  Json arguments;
  JobState state = JobState::queued;
  bool kept = false;  ///< the client knows its name, and may ask for the answer
  steady_clock::time_point submitted, ended;
  std::optional<ToolProcess> process;  ///< while it runs
  ToolAnswer answer;                   ///< of one that is done
  std::string failure;                 ///< why there is no answer; empty where there is one

  [[nodiscard]] bool over() const { return state == JobState::done || state == JobState::cancelled; }
};

/// State, tool, time and what it said on the way: for a client that asks.
[[nodiscard]] Json job_json(const ToolJob& job);

/// Calls at work, so many at a time, and the answers of those that may be asked for later. For one thread.
class ToolJobs {
 public:
  /// @param command starts a tool: its name is appended, its arguments are written to standard input.
  explicit ToolJobs(std::vector<std::string> command) : command_(std::move(command)) {}

  /// Null when too many wait already.
  std::shared_ptr<ToolJob> submit(const Tool& tool, Json arguments);
  /// Null when there is none that the client knows of.
  [[nodiscard]] std::shared_ptr<ToolJob> find(std::string_view name) const;
  void cancel(ToolJob& job);
  /// Gives it a name, by which the client can ask for it.
  void keep(ToolJob& job);
  [[nodiscard]] Json list() const;

  /// Appends what has to be polled before advance().
  void descriptors(std::vector<pollfd>& polled) const;
  /// Takes what processes wrote, ends those that are done, starts those that wait, forgets what is over.
  void advance();

 private:
  void start_waiting();
  void start(ToolJob& job);
  void forget();
  [[nodiscard]] int running(Lane lane) const;

  const std::vector<std::string> command_;
  std::vector<std::shared_ptr<ToolJob>> jobs_;  ///< oldest first
  int kept_ = 0;                                ///< how many ever were
};

}  // namespace ak::mcp

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/message/message_reader.h"
#include "serve/mcp/protocol.h"
#include "serve/mcp/tool_jobs.h"

namespace ak::mcp {

/// Serves one client over two descriptors until the first one ends. One thread: tools are at work in
/// processes of their own, so it reads on whatever they do, and all of them end with it.
class Server {
 public:
  /// @param command starts a tool, see ToolJobs
  /// @param tools that it offers; outlive it
  /// Neither descriptor is owned.
  Server(int in, int out, std::vector<std::string> command, std::string version,
         std::span<const Tool> tools = all_tools());
  /// Throws Error(output) when the client does not take what is written.
  void run();

 private:
  /// A request that is answered when its job is over, or at its deadline.
  struct Waiter {
    ToolCall call;
    std::shared_ptr<ToolJob> job;
    std::optional<steady_clock::time_point> deadline;  ///< nothing: however long it takes
    steady_clock::time_point next_progress;
    bool submitted_it = false;  ///< and takes the job with it when cancelled
    bool finished = false;
  };

  void wait_for_input();
  void read_input();
  void act(Action action);
  void call(ToolCall call);
  void call_server_tool(const ToolCall& call);
  void await(ToolCall call, std::shared_ptr<ToolJob> job, double patience_s, bool submitted_it);
  void cancel(const Json& request_id);
  void serve_waiters();
  void tend(Waiter& waiter, steady_clock::time_point now);
  [[nodiscard]] bool anything_quick() const;
  void send(const Json& message);

  const int in_, out_;
  bool open_ = true;  ///< in_ has not ended
  MessageReader reader_{kMaxLineBytes};
  Protocol protocol_;
  ToolJobs jobs_;
  std::vector<Waiter> waiters_;
};

}  // namespace ak::mcp

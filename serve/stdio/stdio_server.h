// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "core/message/message_reader.h"
#include "serve/stdio/stdio_message.h"

namespace ak::stdio {

/// Serves one client over two descriptors, a JSON object a line (docs/library.md). The calling thread reads
/// on while another one does what is asked, one request after another in the order they came.
class Server {
 public:
  /// Neither descriptor is owned. @param interrupted set by a signal: ends the server; not owned
  Server(int in, int out, operations::Context context, const std::atomic<bool>& interrupted);

  /// Until the input has ended and all requests are answered, or it is interrupted. Then what is at work is
  /// stopped, and requests that wait are answered with an error. Throws Error(output) when the client does
  /// not take what is written.
  void run();

 private:
  void read_input();
  void take(std::string_view line);
  void queue(OperationRequest wanted);
  void stop(const StopRequest& wanted);
  void work();
  [[nodiscard]] std::optional<OperationRequest> next();
  void answer(const OperationRequest& wanted);
  void end(bool now);
  void send(const Json& message);

  const int in_, out_;
  const operations::Context context_;
  const std::atomic<bool>& interrupted_;
  bool open_ = true;  ///< in_ has not ended
  MessageReader reader_{kMaxLineBytes};

  std::mutex queue_mutex_;
  std::condition_variable changed_;
  std::deque<OperationRequest> waiting_;  ///< guarded by queue_mutex_, as what follows
  std::optional<Json> at_work_;           ///< id of the request
  bool ended_ = false;                    ///< no more requests will come

  std::atomic<bool> stop_{false};  ///< what is at work is to end
  std::mutex output_mutex_;
  std::atomic<int> output_error_{0};  ///< errno of a write that failed
};

}  // namespace ak::stdio

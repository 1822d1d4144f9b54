// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/text/file.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {

/// The worker is gone: it ended, was killed, or broke the protocol.
struct WorkerLost {
  std::string reason;           ///< "ended by signal 9 (Killed)"
  int exit_code = -1;           ///< -1: not an ordinary exit
  int signal = 0;               ///< 0: not ended by a signal
  bool broke_protocol = false;  ///< it sent what no worker sends, and was killed
};
struct WorkerTimeout {};
class ChildErrors;
using WorkerReply = std::variant<WorkerMessage, WorkerLost, WorkerTimeout>;

/// A worker's child process, seen from its parent. A separate thread starts the child, moves bytes, sends
/// heartbeats and reaps; the members may be called from one thread at a time. The child is in a process group
/// of its own, gets only the environment variables of an allow-list (docs/sandbox.md), and is killed when
/// this object or this process ends.
class WorkerProcess {
 public:
  /// Starts `argv` (launcher, worker command, "--role", ...) and queues the hello. A command that cannot be
  /// started shows as WorkerLost. @param errors takes its standard error, and outlives it; null: this process's own
  explicit WorkerProcess(std::vector<std::string> argv,
                         std::chrono::milliseconds heartbeat = kHeartbeatInterval,
                         const ChildErrors* errors = nullptr);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Queues a message; never blocks. To a lost worker it does nothing: receive() reports the loss.
  void send(const WorkerMessage& message);
  /// Next message, or what became of the worker. A malformed line or a wrong nonce kills it. Once
  /// lost, always lost. While many bytes wait here no more are read, so that a flood costs no memory.
  [[nodiscard]] WorkerReply receive(std::chrono::steady_clock::time_point deadline);
  /// The facts of the worker's answer to hello. To be called once, before other receives.
  [[nodiscard]] Result<Json> await_hello(std::chrono::steady_clock::time_point deadline);

  /// The same without waiting: nothing until the worker has answered or is lost.
  [[nodiscard]] std::optional<Result<Json>> poll_hello();

  /// Asks the worker to end, and waits so long for that and for its launcher's end; then kill().
  void finish(std::chrono::milliseconds patience);
  /// SIGKILL to the group, then reaped. Idempotent.
  void kill();

  /// Readable (poll) while receive() would return something other than a timeout. Owned by this object.
  [[nodiscard]] int descriptor() const { return ready_.get(); }
  /// 0 before the start and after the end. Of the launcher, where there is one.
  [[nodiscard]] pid_t pid() const { return pid_.load(); }
  /// Resident memory of the process; 0 when it is gone.
  [[nodiscard]] std::size_t resident_bytes() const;
  /// CPU time that the process has used; 0 when it is gone.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const;

 private:
  void run();
  void start();
  bool exchange();
  bool flush_outbox();
  bool read_some();
  [[nodiscard]] bool has_room();
  void queue_heartbeat();
  void reap();
  void end(WorkerLost lost);

  const std::vector<std::string> argv_;
  const std::chrono::milliseconds heartbeat_;
  const ChildErrors* const errors_;
  const std::string nonce_;
  FileDescriptor socket_, ready_, wake_;
  std::atomic<pid_t> pid_{0};
  std::atomic<bool> killed_{false};
  /// A worker that closed its end is about to exit: so long its own exit code is waited for before what is
  /// left is killed.
  std::atomic<std::chrono::milliseconds> grace_{std::chrono::milliseconds(500)};
  LineReader lines_;
  std::string sending_;  ///< of the thread: bytes being written
  std::size_t sent_ = 0;
  std::chrono::steady_clock::time_point next_heartbeat_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> outbox_, inbox_;
  std::size_t inbox_bytes_ = 0;  ///< of lines in inbox_ with what each takes in memory
  std::optional<WorkerLost> lost_;
  std::thread thread_;
};

}  // namespace ak::runtime

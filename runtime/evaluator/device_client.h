// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_facts.h"
#include "runtime/evaluator/device_answers.h"
#include "runtime/evaluator/device_task_clock.h"
#include "runtime/process/device_messages.h"
#include "runtime/process/worker_process.h"

namespace ak::runtime {

/// A finished device task, and what the worker's process printed meanwhile (device printf).
struct DeviceFinish {
  DeviceAnswer answer;
  std::string prints;
  bool took_worker_down =
      false;  ///< the worker was lost while the candidate ran, and has to be started again
};

/// The parent's side of the device worker: starts it, opens problems, gives it one task at a time with the
/// next one sent ahead, kills it when it hangs and starts it again. Never blocks except for the start of a
/// process and in describe(). What the worker says is believed only where it fits what was asked: one that breaks
/// the protocol is killed and started again, and its task ends as infrastructure_error. One thread.
class DeviceClient {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// @param argv launcher, worker command and "--role device".
  /// @param watched the launcher watches the worker's kernels: these may take longer, and it is given time
  /// to write down what it saw when the worker ends.
  /// @param errors as WorkerProcess takes it
  explicit DeviceClient(std::vector<std::string> argv, bool watched = false,
                        const ChildErrors* errors = nullptr);
  ~DeviceClient();
  DeviceClient(const DeviceClient&) = delete;
  DeviceClient& operator=(const DeviceClient&) = delete;

  /// Devices the worker sees. Throws Error(environment) with the driver's reason. A worker that is killed meanwhile is
  /// started again a few times, here and in calibrate().
  [[nodiscard]] std::vector<DeviceFacts> describe();

  /// Starts the worker, if there is none, and asks which devices it sees, without waiting for either: a launcher may
  /// have to wait for its queue, and a worker elsewhere for its controller. Requires !busy().
  /// @param describe false: whether it greets is all that is asked
  void join(bool describe);
  [[nodiscard]] bool joining() const noexcept { return joining_; }
  /// What join() asked for, once it is there. Throws Error(environment) when the worker is lost or refuses; it is
  /// gone then. So it is when it has greeted and does not say within a minute what it sees.
  [[nodiscard]] std::optional<std::vector<DeviceFacts>> poll_joined(TimePoint now);
  /// Asks what the program of calibrations takes on a device, without waiting, of a process that has had no problem.
  /// Requires a process that has joined, and !busy().
  void ask_calibration(const CalibrationTask& task);
  [[nodiscard]] bool calibrating() const noexcept { return calibration_id_ != 0; }
  /// What ask_calibration() asked for, once it is there. Throws as poll_joined() does.
  [[nodiscard]] std::optional<Calibration> poll_calibration(TimePoint now);
  /// Both at once: waits for it.
  [[nodiscard]] Calibration calibrate(const CalibrationTask& task);
  /// What the process that has joined greeted with.
  [[nodiscard]] const Json& greeting() const noexcept { return greeting_; }
  /// Between tasks: notices that the worker has gone meanwhile, or says what it was not asked, and forgets it. Why, if
  /// so.
  [[nodiscard]] std::optional<std::string> drop_if_lost();
  /// There is a process, or a launcher's.
  [[nodiscard]] bool has_process() const noexcept { return process_ != nullptr; }
  /// There is one, and a candidate was given to it.
  [[nodiscard]] bool had_candidate() const noexcept { return process_ != nullptr && had_candidate_; }

  /// The problem of the tasks that follow; opened in every worker process that has not done so. A process that cannot
  /// open it any more is ended.
  void open(std::shared_ptr<const OpenProblem> problem);
  /// Starts a task; requires !busy() and an open problem.
  /// @param deadline when the task as a whole ends as `timeout`.
  void start(const DeviceTask& task, TimePoint deadline);
  [[nodiscard]] bool busy() const noexcept { return task_id_ != 0; }
  /// Sends the task that follows the running one ahead, so that the worker has read it by then; requires
  /// busy() and can_queue(). When the running task ends well the queued one runs: busy() stays true. When the
  /// worker is lost it is forgotten: busy() is false, and the owner starts it again.
  void queue(const DeviceTask& task, std::chrono::milliseconds limit);
  [[nodiscard]] bool can_queue() const noexcept { return busy() && opened_ && queued_id_ == 0; }
  /// The task's end, if it has ended. Throws Error when a worker that has run nothing yet cannot open the problem:
  /// no device, no memory.
  [[nodiscard]] std::optional<DeviceFinish> poll();
  /// Starts a task and waits for its end.
  [[nodiscard]] DeviceFinish run(const DeviceTask& task, TimePoint deadline);
  /// Forgets the running task and kills the worker.
  void abandon();

  /// Readable when poll() has something to do; -1 while there is no process.
  [[nodiscard]] int descriptor() const { return process_ ? process_->descriptor() : -1; }
  /// When poll() is to be called even if nothing is readable.
  [[nodiscard]] TimePoint wake_up() const { return clock_.wake_up(); }

 private:
  void start_process();
  void ensure_process();
  template <class Ask>
  auto ask_again_if_killed(Ask ask) -> decltype(ask());
  [[nodiscard]] std::vector<DeviceFacts> take_devices(const WorkerReply& reply, std::uint64_t id);
  [[nodiscard]] bool goes_on_waiting(const WorkerReply& reply, TimePoint now);
  template <class Value>
  [[nodiscard]] Value take_reply(const WorkerReply& reply, std::uint64_t id, std::string_view type,
                                 Result<Value> (*read)(const Json&));
  void drop_process();
  void end_process();
  void begin(std::uint64_t task, TimePoint deadline, bool opening);
  std::uint64_t send(std::string type, Json body);
  void keep_prints(const std::string& prints);
  std::optional<DeviceFinish> take(const WorkerMessage& message);
  std::optional<DeviceFinish> take_opened(const WorkerMessage& message);
  std::optional<DeviceFinish> take_progress(const WorkerMessage& message);
  DeviceFinish take_answer(const WorkerMessage& message);
  DeviceFinish refuse_open(const Json& body);
  DeviceFinish break_off(const std::string& breach);
  std::optional<DeviceFinish> expire();
  DeviceFinish lose(const WorkerLost& lost);
  void await_readable() const;
  DeviceFinish finish(DeviceAnswer answer);
  DeviceFinish finish(Status status, std::string message);

  std::vector<std::string> argv_;
  bool watched_;
  const ChildErrors* errors_;
  std::unique_ptr<WorkerProcess> process_;
  std::shared_ptr<const OpenProblem> problem_;
  bool joining_ = false;  ///< an answer to join() is awaited
  Json greeting_;
  bool greeted_ = false;              ///< the process that joins has answered hello
  std::uint64_t described_id_ = 0;    ///< of what join() asked; 0: nothing
  TimePoint described_by_ = {};       ///< when that has to be answered, once it has greeted
  std::uint64_t calibration_id_ = 0;  ///< of what ask_calibration() asked; 0: nothing
  TimePoint calibration_by_ = {},
            calibration_end_ = {};  ///< when that has to be answered; moved on until the end
  bool opened_ = false;             ///< by the running process; true once asked for
  bool confined_ = false;  ///< the running process has opened a problem, and can start no other process since
  bool was_killed_ = false;     ///< the last process from which an answer was awaited between tasks
  bool used_ = false;           ///< the running process has had a task, and with it perhaps a candidate
  bool had_candidate_ = false;  ///< the running process was given one
  std::uint64_t last_id_ = 0, open_id_ = 0, task_id_ = 0, queued_id_ = 0;  ///< 0: no answer is awaited
  std::optional<AskedOfDevice> asked_, queued_asked_;
  std::chrono::milliseconds queued_limit_{0};
  DeviceTaskClock clock_;
  int progress_messages_ = 0;  ///< of the running task
  std::string prints_;
  int lost_while_opening_ = 0;
};

}  // namespace ak::runtime

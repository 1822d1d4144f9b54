// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/fleet/device_calibrations.h"
#include "runtime/fleet/device_line.h"

namespace ak::runtime {

/// The places, each with a name of its own.
[[nodiscard]] std::vector<DevicePlace> numbered(std::vector<DevicePlace> places);

/// The devices of an evaluator: one GPU, several CPU devices of this machine, or a pool (EvaluatorOptions::pool). The
/// workers of a pool join while it is used already, and again when they were lost; what joins has to be of the first
/// one's model and no other line's GPU, and is calibrated, again and again. One thread.
class DevicePool {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Starts the worker of the first GPU and waits until it has said what it is and is calibrated; on CPU devices, until a
  /// worker of this program here has said what a calibration costs. The others start when they are needed.
  /// Throws Error(usage) when there is no GPU of that ordinal, Error(environment) with the driver's reason when there
  /// is none at all.
  explicit DevicePool(const EvaluatorOptions& options);

  [[nodiscard]] std::deque<DeviceLine>& lines() { return lines_; }
  [[nodiscard]] const std::deque<DeviceLine>& lines() const { return lines_; }
  /// Devices that can take a task now or have one.
  [[nodiscard]] int present() const;
  /// Of the first device that answered, whatever became of it.
  [[nodiscard]] const DeviceFacts& facts() const { return *facts_; }
  /// Where the times of a task are from: null for the device of facts().
  [[nodiscard]] std::shared_ptr<const DeviceFacts> other_device(const DeviceLine& line) const;
  [[nodiscard]] bool pooled() const { return pooled_; }

  /// Whether an idle line can take a task; lets its worker join where it has none.
  [[nodiscard]] bool ready(DeviceLine& line);
  /// Whether what decides may run there: comparisons and final measurements stay on one GPU while it is there.
  [[nodiscard]] bool decides(const DeviceLine& line) const;
  /// The line can take a task or has one, or did a moment ago and is starting again.
  [[nodiscard]] bool awaited(const DeviceLine& line) const;
  /// Another line than this can take a task.
  [[nodiscard]] bool has_other(const DeviceLine& line) const;

  void note_answer(DeviceLine& line) { line.breaker.note_answer(); }
  /// The device has to be calibrated before its next task.
  [[nodiscard]] bool calibration_is_due(const DeviceLine& line) const;
  /// What each of its places does; none where there is no pool.
  [[nodiscard]] std::vector<PoolPlace> places() const;
  /// Those since the last call.
  [[nodiscard]] std::vector<CalibrationRecord> take_calibrations() { return std::exchange(calibrated_, {}); }
  void note_loss(DeviceLine& line, const std::string& reason);
  /// Its hardware has failed, as its worker says: it rests at once, and is calibrated before it is tried again.
  void note_fault(DeviceLine& line, const std::string& fault);

  /// Takes in the workers that join. Throws Error(environment) when no device of a pool has answered for minutes.
  void poll();
  /// Appends what becomes readable when poll() has something to do.
  void add_descriptors(std::vector<pollfd>& descriptors) const;

 private:
  void show_errors(DeviceLine& line, bool has_ended = false);
  void show_once(const std::string& note);
  void open_first();
  void open(DeviceLine& line);
  [[nodiscard]] bool usable(const DeviceLine& line) const;
  void take_joined(DeviceLine& line);
  void admit(DeviceLine& line, const std::vector<DeviceFacts>& devices);
  /// Why a device cannot be of this pool.
  struct Objection {
    std::string why;
    bool lasts = false;  ///< trying again is of no use
  };
  [[nodiscard]] std::optional<Objection> objection(const DeviceLine& line, const DeviceFacts* found) const;
  [[nodiscard]] std::optional<Objection> same_gpu(const DeviceLine& line, const DeviceFacts& device) const;
  void begin_lease(DeviceLine& line, std::shared_ptr<const DeviceFacts> device);
  void take_calibrated(DeviceLine& line);
  void judge(DeviceLine& line, const Calibration& read);
  [[nodiscard]] CalibrationTask calibration_of(const DeviceLine& line) const;
  [[nodiscard]] PoolPlace report_of(const DeviceLine& line) const;
  static void settle(DeviceLine& line, std::shared_ptr<const DeviceFacts> device);
  void turn_away(DeviceLine& line, const Objection& objection);
  void check_presence();

  const EvaluatorOptions& options_;
  const bool pooled_;
  std::shared_ptr<const DeviceFacts> facts_;
  std::deque<DeviceLine> lines_;
  const DeviceLine* first_ = nullptr;  ///< of a pool of GPUs: that of facts()
  DeviceCalibrations calibrations_;
  std::vector<CalibrationRecord> calibrated_;  ///< not reported yet
  TimePoint checked_, present_;                ///< when check_presence() ran last, and found a device
  std::string last_reason_ = "none has joined";
  std::set<std::string> said_;  ///< notes of those who wait for workers that connect
};

}  // namespace ak::runtime

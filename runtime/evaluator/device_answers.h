// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/device/device_facts.h"
#include "core/result.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {

// What a device worker may say. A candidate may have taken it over: what is malformed, or does not fit what was asked,
// is an error in words.

/// What a `progress` message says.
struct DeviceProgress {
  std::string doing;  ///< "candidate", "reference", "harness" or "waiting"
  std::string what;   ///< the same in words
  double limit_ms = 0;
};
[[nodiscard]] Result<DeviceProgress> read_progress(const Json& body);

/// The devices of a `devices` message.
[[nodiscard]] Result<std::vector<DeviceFacts>> read_devices(const Json& body);

/// A `calibrated` message.
[[nodiscard]] Result<Calibration> read_calibration(const Json& body);

/// Why something failed, as the worker says it: one line, without control characters.
[[nodiscard]] std::string reason_in(const Json& body);

/// A task as far as its answer has to fit it.
class AskedOfDevice {
 public:
  AskedOfDevice(const DeviceTask& task, const OpenProblem& problem);

  /// The answer in an `evaluated` message.
  [[nodiscard]] Result<DeviceAnswer> read(const Json& body) const;

 private:
  enum class Kind : std::uint8_t { evaluation, comparison, library, baselines, profile, apart };
  struct Workload {
    std::vector<std::string> distributions;
    bool timed = false, energy = false;
  };
  static Kind kind_of(const DeviceTask& task);

  // Each rejects what was not asked for by throwing JsonInputError.
  void check_outcome(const DeviceAnswer& answer) const;
  void check_records(const DeviceAnswer& answer) const;
  void check_measurements(const DeviceAnswer& answer) const;
  static void check_median(const Measurement& m);
  void check_nothing_missing(const DeviceAnswer& answer) const;
  void check_complete(const DeviceAnswer& answer) const;
  void check_profiles(const DeviceAnswer& answer) const;
  [[nodiscard]] bool may_measure(MeasurementRole role) const;
  [[nodiscard]] const Workload* timed_workload(const std::string& name) const;

  Kind kind_;
  std::map<std::string, Workload> workloads_;
  std::vector<std::string> outputs_;
};

}  // namespace ak::runtime

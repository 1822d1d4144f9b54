// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/evaluator/local_evaluator.h"

namespace ak::runtime::test {

/// Of AlphaKernel, as they say.
inline constexpr const char* kPretendedVersion = "1.2.3";

/// A device worker without a device, which follows a script. Events are the messages that it gets, "hello",
/// "describe", "calibrate", "open", "baseline" and "evaluate", alone or after the number of its process: "2 open" is the first
/// problem of the second process. A candidate is said to run, and is incorrect.
struct PretendedDevice {
  std::string uuid;
  std::string claims = {};                            ///< the UUID that it says it has; empty: its own
  bool has_uuid = true;                               ///< false: it says none
  std::vector<std::string> models = {"NVIDIA H200"};  ///< of its first processes, the last of all others, too
  std::vector<double> compute_ns = {130e3};       ///< of the calibrations of its first processes, as above
  std::vector<std::int64_t> memory_errors = {0};  ///< the same
  std::vector<std::string> dies_at = {};          ///< events at which it ends, with `exit_code`
  std::vector<std::string> dies_after = {};       ///< events after whose answer it does
  int exit_code = 1;                              ///< negative: it is killed by that signal
  std::vector<std::string> faults = {};           ///< evaluations at which its GPU fails
  std::vector<std::string> refuses = {};          ///< events that it answers with a reason why not
  std::vector<std::string> is_silent_at = {};     ///< events that it never answers
  std::map<std::string, std::filesystem::path> waits =
      {};  ///< it goes on from an event when there is that file
};

/// @param folder where it writes down what it gets
[[nodiscard]] DevicePlace place_of(const PretendedDevice& device, const std::filesystem::path& folder);

/// All events so far, in order: "1 hello", "1 describe", ...
[[nodiscard]] std::vector<std::string> events_of(const std::string& uuid,
                                                 const std::filesystem::path& folder);

/// Is there from the event on.
[[nodiscard]] std::filesystem::path trace_of(const std::string& uuid, const std::string& event,
                                             const std::filesystem::path& folder);

}  // namespace ak::runtime::test

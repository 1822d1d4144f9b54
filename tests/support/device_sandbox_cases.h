// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/evaluation.h"
#include "runtime/process/worker_process.h"

namespace ak::test {

/// A device worker with a tiny problem open, for requests of sandbox_attempts.h.
class OpenDeviceWorker {
 public:
  explicit OpenDeviceWorker(DeviceKind device);

  /// Opens the problem again, which leaves the worker as confined as it was.
  void open();
  [[nodiscard]] Json ask(const std::string& type, const Json& body = Json::object());
  /// What the worker said when it opened the problem.
  [[nodiscard]] const Json& opened() const { return opened_; }

 private:
  runtime::WorkerProcess process_;
  Json problem_, opened_;
};

}  // namespace ak::test

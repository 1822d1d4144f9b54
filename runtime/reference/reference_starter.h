// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "core/text/json.h"
#include "runtime/process/sandbox.h"
#include "runtime/reference/python_installation.h"
#include "runtime/reference/reference_life.h"

namespace ak::runtime {

/// A process that has imported PyTorch, and makes copies of itself that become reference processes: an import takes
/// seconds, a copy milliseconds. It runs nothing of a user's; a copy confines itself before it does
/// (docs/sandbox.md). It ends, and all copies with it, when this object or the process does. Any thread.
class ReferenceStarter {
 public:
  /// The name under which device workers on this machine find it (start_copy). Starts it in the background, once
  /// for an installation. Throws Error(environment) when it cannot be started.
  [[nodiscard]] std::string offer(const PythonInstallation& python);

 private:
  void start(const PythonInstallation& python);

  std::mutex mutex_;
  FileDescriptor lifeline_;
  std::unique_ptr<ReferenceLife> process_;
  std::string program_, name_;
};

/// A copy to be made: descriptors by the place that they get there.
struct CopyRequest {
  std::string entry;                    ///< module of runtime/reference/python
  std::string key;                      ///< who asks with the same one may have the copy next; empty: nobody
  Json launch;                          ///< what its main() takes
  std::size_t memory_bytes = 0;         ///< of its own (RLIMIT_DATA); 0: no limit
  std::size_t address_space_bytes = 0;  ///< (RLIMIT_AS); 0: no limit
  Permissions permissions;
  int prints = -1, socket = -1, memory = -1;
  int device_memory = -1;  ///< -1: none
};

/// Asks the starter of that name for a copy, or for one that rests, and waits until it is there. Null where there is no such starter, or it
/// ends: it is on another machine, or its PyTorch cannot be imported. Throws Error(environment) past `deadline`.
[[nodiscard]] std::unique_ptr<ReferenceLife> start_copy(const std::string& starter,
                                                        const CopyRequest& request,
                                                        std::chrono::steady_clock::time_point deadline);

}  // namespace ak::runtime

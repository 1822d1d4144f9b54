// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/text/json.h"

namespace ak::runtime {

// What the workers that `doctor` asks may say in their greetings: what is malformed is an error in words.

/// A protection that a worker asked for, and whether what it forbids was refused.
struct ProtectionReport {
  std::string part;
  bool in_force = false;
  std::string detail, cost, remedy;
};

/// The greeting of a worker in the role `sandbox`.
[[nodiscard]] Result<std::vector<ProtectionReport>> read_protections(const Json& hello);

/// What a device worker greets with.
struct WorkerMachine {
  std::string version;  ///< of AlphaKernel
  std::int64_t unix_ms = 0;
  std::optional<std::int64_t> free_bytes = {};  ///< for temporary files; nothing: not known
};
[[nodiscard]] Result<WorkerMachine> read_worker_machine(const Json& hello);

/// The greeting of a worker in the role `counters`: why hardware counters cannot be read; empty where they can.
[[nodiscard]] Result<std::string> read_obstacle(const Json& hello);

}  // namespace ak::runtime

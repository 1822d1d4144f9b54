// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "core/outcome.h"

namespace ak::runtime {

// A plain fp64 reference of a large problem takes seconds; beyond this it is taken for hung (chosen, untested).
inline constexpr double kReferenceLimitMs = 120'000;

/// What the reference itself is at fault for.
[[nodiscard]] inline Outcome reference_fault(std::string message) {
  return {.status = Status::invalid_reference,
          .stage = StageId::check,
          .message = std::move(message),
          .diagnostics = {}};
}

}  // namespace ak::runtime

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/check/checker.h"
#include "emulator/machine/shared_place.h"

namespace ak::emulator {

/// A fault of one lane that ends the launch.
void stop_with(Warp& warp, const Op& op, int lane, FaultKind kind, const std::string& why);

/// What one lane of an asynchronous instruction touches: `bytes` bytes of shared memory of the cluster at `address`, a
/// multiple of `alignment`. Asks the checker; nothing after a fault.
[[nodiscard]] std::optional<SharedPlace> shared_range(Warp& warp, const Op& op, int lane,
                                                      std::uint64_t address, std::uint64_t bytes,
                                                      std::uint32_t alignment, AccessKind kind);

}  // namespace ak::emulator

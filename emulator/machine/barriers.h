// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// After lanes have exited: barriers that waited only for them open. True when one did.
bool recheck_barriers(Block& block);
/// Threads at each barrier that is waited for, and what is missing: for a deadlock's message.
[[nodiscard]] std::string describe_waiting(const Block& block);

/// What the phase of the mbarrier that `lane` waits for at `op` lacks: for a hang's message.
[[nodiscard]] std::string describe_mbarrier_wait(const Warp& warp, const Op& op, int lane);

}  // namespace ak::emulator

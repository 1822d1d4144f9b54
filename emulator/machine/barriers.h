// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// After lanes have exited: barriers that waited only for them open. True when one did.
bool recheck_barriers(Block& block);
/// Threads at each barrier that is waited for, and what is missing: for a deadlock's message.
[[nodiscard]] std::string describe_waiting(const Block& block);

}  // namespace ak::emulator

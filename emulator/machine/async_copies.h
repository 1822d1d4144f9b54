// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// Performs the cp.async copies of `lanes` except those in the last `groups_left` groups, of which the newest
/// is the one still open: 0 for what must wait for all (wait_all, an mbarrier arrival, a thread's exit),
/// n + 1 for wait_group n.
void complete_copies(Warp& warp, std::uint32_t lanes, std::size_t groups_left);

/// Gives the copy engine of the warp's block something to do later. What has waited longest is done at once
/// when very much waits, so that a block that issues without end cannot fill the host's memory.
void add_async_work(Warp& warp, AsyncWork work);
/// False when nothing waits.
bool perform_oldest_work(Block& block, Launch& launch);

}  // namespace ak::emulator

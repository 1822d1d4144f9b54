// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ptx/warp.h"

namespace ak::ptx {

/// Performs the cp.async copies of `lanes` except those in the last `groups_left` groups, of which the newest
/// is the one still open: 0 for what must wait for all (wait_all, an mbarrier arrival, a thread's exit),
/// n + 1 for wait_group n.
void complete_copies(Warp& warp, std::uint32_t lanes, std::size_t groups_left);

}  // namespace ak::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// Runs a warp until all of its fragments are blocked or done, or until about `quantum` warp instructions
/// were issued or a fragment yields to other warps. Returns the number issued.
std::uint64_t run_warp(Warp& warp, std::uint64_t quantum);
[[nodiscard]] bool finished(const Warp& warp);

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace ak::emulator::test {

/// How far texts got that claim to be PTX.
struct HostileCounts {
  std::uint64_t texts = 0, parsed = 0, lowered = 0, launched = 0, with_findings = 0;
};

/// Parses `text` and runs each of its kernels that can be lowered on a few small blocks, with an instruction
/// budget. `choices` picks the shape of the grid, the order of its warps, the checks and the arguments, which
/// are buffers, numbers and tensor maps. Aborts when a kernel spends more than its budget or, checked, has
/// written to a read-only buffer; everything else that should not happen is for sanitizers to see.
void run_hostile(std::string_view text, std::uint64_t choices, HostileCounts& counts);

}  // namespace ak::emulator::test

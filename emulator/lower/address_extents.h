// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "emulator/lower/memory_layout.h"
#include "emulator/lower/program.h"

namespace ak::emulator {

/// By instruction of `function`: the variable in shared or local memory that its address is derived from, so
/// that an access that leaves it can be distinguished from one to its neighbour. Where a register may hold addresses
/// of several variables, from the first of them to the end of the last. No extent where the analysis cannot
/// follow: an address that was loaded from memory, or mixed in ways that addresses are not.
[[nodiscard]] std::vector<Extent> address_extents(const Function& function, const MemoryLayout& memory);

}  // namespace ak::emulator

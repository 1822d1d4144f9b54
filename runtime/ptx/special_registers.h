// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/ptx/warp.h"

namespace ak::ptx {

/// Width of a special register that is kept as a row; throws UnsupportedInstruction for one that is not
/// covered. Clocks are no rows: they change.
[[nodiscard]] int special_bits(const std::string& name);
/// Value of a name that is a constant to every program (WARP_SZ); nothing for others.
[[nodiscard]] std::optional<std::uint64_t> constant_special(const std::string& name);
/// First bytes of shared memory that belong to the system, in programs that ask where they are: 1 KiB a block
/// from sm_80 on (CUDA C++ Programming Guide, "Shared Memory"). Groups of several warps meet there.
inline constexpr std::uint32_t kReservedSharedBytes = 1024;
[[nodiscard]] bool names_reserved_shared(const std::string& name);
/// Fills the rows of Program::specials of a warp that is about to start.
/// @param workspace device address of the cooperative grid's workspace; 0: there is none.
void fill_special_rows(Warp& warp, std::uint64_t workspace);
/// True when the program asks for that workspace.
[[nodiscard]] bool reads_grid_workspace(const Program& program);

}  // namespace ak::ptx

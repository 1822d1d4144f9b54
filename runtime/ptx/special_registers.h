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
/// Fills the rows of Program::specials of a warp that is about to start.
void fill_special_rows(Warp& warp);

}  // namespace ak::ptx

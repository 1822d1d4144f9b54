// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

/// Entries of all families for an opcode, in the order in which they are asked; empty for an unknown opcode.
[[nodiscard]] const std::vector<const Mnemonic*>& mnemonics_of(std::string_view opcode);
/// Every opcode that some family knows.
[[nodiscard]] std::set<std::string_view> covered_opcodes();

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

/// Entries of all families by opcode, in the order in which they are asked.
using MnemonicTable = std::unordered_map<std::string_view, std::vector<const Mnemonic*>>;
[[nodiscard]] const MnemonicTable& mnemonic_table();

/// Those for an opcode, in the order in which they are asked; empty for an unknown opcode.
[[nodiscard]] const std::vector<const Mnemonic*>& mnemonics_of(std::string_view opcode);

}  // namespace ak::emulator

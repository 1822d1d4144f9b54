// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/lower/lowering.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {

// Operands of copies and other asynchronous instructions in Op::more, by word: an address is three words, its base,
// the width of that in bits and its offset; a number is one.

inline constexpr std::uint32_t kAddressWords = 3;

/// UnsupportedInstruction for offsets beyond 32 bits.
void append_address(Lowering& lowering, const Operand& operand, std::vector<Slot>& words);

/// Number in kReductions of the reduction that the modifiers name, if they do.
[[nodiscard]] std::optional<std::size_t> reduction_of(const Lowering& lowering);

[[nodiscard]] std::uint64_t address_at(const Warp& warp, const Op& op, std::uint32_t word, int lane);
[[nodiscard]] std::uint32_t number_at(const Warp& warp, const Op& op, std::uint32_t word, int lane);

}  // namespace ak::emulator

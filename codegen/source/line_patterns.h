// SPDX-License-Identifier: Apache-2.0
// What a line of code shows that no single word does. Lines have no comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ak::codegen {

/// Constants of a line that have a number: "constexpr int STAGES = 3, PAD = 1", "#define STAGES 3". Names as tunables are
/// spelled: kStages is K_STAGES.
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> constants_of(std::string_view line);

/// A pointer to a built-in vector or a pair of 16-bit numbers, or an instruction that moves several words of device memory.
[[nodiscard]] bool points_to_vectors(std::string_view line);
/// Arithmetic of instructions on pairs; conversions are none.
[[nodiscard]] bool computes_with_pairs(std::string_view line);
/// An index that is 0 and 1 in turn, or runs through stages.
[[nodiscard]] bool takes_buffers_in_turn(std::string_view line);
/// Lines of shared memory that are longer than what they hold, or an exclusive or of a place with bits of another.
[[nodiscard]] bool spreads_over_banks(std::string_view line);
/// An array of numbers of a function's own.
[[nodiscard]] bool keeps_numbers_in_registers(std::string_view line);
[[nodiscard]] bool unrolls(std::string_view line);

}  // namespace ak::codegen

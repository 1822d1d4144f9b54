// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/check/checker.h"
#include "emulator/machine/shared_place.h"

namespace ak::emulator {

// What copies of ranges and of tensor boxes have in common: who receives them, and what the checker learns.

/// Asks the checker about a range that a copy touches on behalf of one lane; true where nothing is checked.
[[nodiscard]] bool may_touch(Warp& warp, const Op& op, Space space, std::uint64_t address, int lane,
                             std::uint64_t bytes, AccessKind kind);

/// The blocks a copy goes to: by the bits of `ranks` (multicast), else only the one of `place`.
[[nodiscard]] std::vector<Block*> receivers(const Warp& warp, const SharedPlace& place,
                                            std::optional<std::uint32_t> ranks);
[[nodiscard]] std::uint64_t receiver_count(const Warp& warp, std::uint32_t ranks);
/// The blocks in which a copy arrives at an mbarrier: with multicast each that receives it.
[[nodiscard]] std::vector<Block*> barrier_blocks(const std::optional<SharedPlace>& barrier,
                                                 const std::vector<Block*>& receiving,
                                                 std::optional<std::uint32_t> ranks);
/// Whether there is an mbarrier to arrive at, in each of `blocks`; a fault ends the launch.
[[nodiscard]] bool valid_barrier(Warp& warp, const Op& op, int lane,
                                 const std::optional<SharedPlace>& barrier,
                                 const std::vector<Block*>& blocks);

/// The checker learns what a copy will write, in each block that receives it.
void announce_writes(Warp& warp, const Op& op, int lane, const std::vector<Block*>& blocks,
                     std::uint32_t offset, std::uint32_t bytes);
/// The checker learns what a copy from shared memory will read until its group is waited for.
void announce_read(Warp& warp, const Op& op, int lane, const SharedPlace& from, std::uint64_t bytes);

/// The bytes have arrived in shared memory.
void finish_copy(Warp* warp, Block* block, std::uint32_t offset, std::uint32_t bytes);
/// Completes `bytes` on the mbarrier at `offset` of `block`; the copy's data, and what `lane`, which issued it, did
/// before, are visible to who acquires it.
void signal_copy(Warp* warp, int lane, Block* block, std::uint32_t offset, std::uint32_t bytes);

}  // namespace ak::emulator

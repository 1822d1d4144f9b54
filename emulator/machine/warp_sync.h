// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// For instructions that need several lanes at once (.sync, .aligned): true when every lane of `named` that
/// has not exited executes `op` now. Else the fragment waits until they do, `op` is executed again then, and
/// the handler must return at once without effect.
[[nodiscard]] bool await_lanes(Warp& warp, const Op& op, std::uint32_t named);
/// The same where each lane names its own members: lanes with different masks wait for theirs alone. A lane
/// that does not name itself is a fault.
[[nodiscard]] bool await_members(Warp& warp, const Op& op, const std::uint32_t* masks);

/// Splits the running fragment: the lanes in warp.mask go to `target`, the others on to warp.pc, and they
/// meet at `reconvergence` (kNone: never). Returns the fragment of the lanes in warp.mask, to be used at once.
Fragment& diverge(Warp& warp, Index target, Index reconvergence);
/// The running fragment reached op `at`, where lanes may be waiting for each other.
void arrive_at_join(Warp& warp, Index at);
/// The lanes in warp.mask exit.
void exit_lanes(Warp& warp);
/// Lanes that have waited long for others to meet them continue without: what the others spin on may be
/// theirs to do (threads of a warp progress independently; CUDA C++ Programming Guide, "SIMT Architecture").
void release_waiting(Warp& warp);
/// The same at once, where nothing else in the launch can continue: a thread that returns early does not wait
/// for those that stay. False: no lanes wait so.
[[nodiscard]] bool release_all_waiting(Warp& warp);
/// Blocks the running fragment on barrier `barrier` of its block (16: the cluster's).
void block_at_barrier(Warp& warp, std::uint32_t barrier);
inline constexpr std::uint32_t kClusterBarrier = 16;

}  // namespace ak::emulator

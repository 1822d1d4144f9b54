// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "emulator/check/async_reads.h"
#include "emulator/check/checker.h"
#include "emulator/check/cluster_order.h"
#include "emulator/machine/shared_place.h"

namespace ak::emulator {

struct CheckedAccess;

/// The part of the checker that follows asynchronous operations, proxies, mbarriers and the shared memory of
/// other blocks in a cluster. Costs nothing in launches without them. One thread.
class AsyncChecker {
 public:
  explicit AsyncChecker(Checker::State& state) : state_(state) {}

  // Asynchronous reads of shared memory: sources of bulk copies and reductions, operands of wgmma.
  void begin_read(Warp& warp, const Op& op, int lane, std::span<const Chunk> chunks);
  void commit(Warp& warp, int lane);
  void wait(Warp& warp, int lane, std::size_t groups_left);
  /// A copy will write these bytes of `owner`, which may be another block.
  void copy_writes(Warp& warp, const Op& op, int lane, const Block& owner, std::uint32_t offset,
                   std::uint32_t bytes);

  /// A copy that another block issued has written these bytes of `owner`.
  void copy_arrived(const Block& owner, std::uint32_t offset, std::uint32_t bytes);

  /// fence.proxy.async, or a fence of both proxies; `mbarriers_only`: fence.mbarrier_init.
  void proxy_fenced(Warp& warp, bool mbarriers_only);

  void mbarrier_initialised(Warp& warp, const Op& op, int lane, const SharedPlace& place);
  /// An operation on an mbarrier; `by_copy`: a copy engine will arrive there.
  void mbarrier_used(Warp& warp, const Op& op, int lane, const SharedPlace& place, bool by_copy);

  void block_started(Block& block);
  /// Its last thread has ended.
  void block_ended(Block& block);

  // What the rest of the checker reports.
  void barrier_joined(const Block& block, const std::vector<std::uint32_t>& lanes);
  void cluster_joined(const std::vector<Block*>& cluster);
  void released(const Block& block);
  void acquired(const Block& block);
  /// Another block released into an mbarrier of `owner`; a block met others through global memory.
  void signalled(const Block& owner) { order_.signalled(owner); }
  void met(const Block& block);
  /// Whether an access to the memory of `owner` must be shown to the functions below.
  [[nodiscard]] bool watches(const Block& owner, bool writes) const;
  void access(const CheckedAccess& request, Block& owner, std::uint32_t offset, std::uint32_t bytes,
              int lane);
  /// An access to the memory of another block.
  void remote_access(const CheckedAccess& request, Block& owner, std::uint32_t offset, std::uint32_t bytes,
                     int lane);
  void access_lanes(const CheckedAccess& request, const std::uint64_t* offsets, std::uint32_t mask);

 private:
  struct MbarrierInit {
    std::uint32_t warp = 0, clock = 0;
    int lane = 0;
    Index op = kNone;
    std::uint64_t cluster_phase = 0;
    bool published = false;  ///< to copy engines
  };
  struct Watched {
    AsyncReads reads;
    std::map<std::uint32_t, MbarrierInit> mbarriers;  ///< by offset
    ClusterAccesses accesses;                         ///< of other blocks
    std::uint32_t phase_clock = 0;                    ///< of its warps after the last cluster barrier
  };
  [[nodiscard]] Watched& of(const Block& block);
  [[nodiscard]] Watched* find(const Block& block) const;
  void report_overwritten(const CheckedAccess& request, const Block& owner, const AsyncReads::Found& found,
                          int lane);
  void report_mbarrier(Warp& warp, const Op& op, int lane, const SharedPlace& place, const MbarrierInit& init,
                       FaultKind kind);
  [[nodiscard]] bool reachable(const CheckedAccess& request, Block& owner, std::uint32_t offset, int lane);
  [[nodiscard]] bool known(const ClusterAccess& access, const Block& block) const;
  void judge_cluster(const CheckedAccess& request, Block& owner, std::uint32_t offset, std::uint32_t bytes,
                     int lane);

  void judge_own(const CheckedAccess& request, Block& owner, std::uint32_t offset, std::uint32_t bytes,
                 int lane);

  Checker::State& state_;
  std::unordered_map<const Block*, std::unique_ptr<Watched>> watched_;
  mutable const Block* last_block_ = nullptr;  ///< that was looked for, and what was found
  mutable Watched* last_watched_ = nullptr;
  ClusterOrder order_;
};

}  // namespace ak::emulator

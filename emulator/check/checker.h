// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/machine/warp.h"

namespace ak::emulator {

class AsyncChecker;

enum class AccessKind : std::uint8_t {
  read,
  non_coherent_read,  ///< ld.global.nc
  write,
  atomic,       ///< read-modify-write; also volatile and .relaxed accesses, which do not race with each other
  async_read,   ///< by a copy engine on behalf of the thread, or as an operand of wgmma
  async_write,  ///< issue of an asynchronous copy: the destination is pending until the wait
};

/// What all 32 lanes of a warp access when they do so at one address or one after the other. In local memory
/// the address is each lane's own offset, and uniform.
struct Run {
  std::uint64_t address = 0;  ///< of lane 0; a multiple of lane_bytes
  std::uint32_t lane_bytes = 0;
  bool uniform = false;
  [[nodiscard]] std::uint64_t bytes() const {
    return uniform ? lane_bytes : std::uint64_t{lane_bytes} * kLanes;
  }
};

/// The memory and race checker of one launch. Memory handlers call `access` before they touch memory; barrier
/// and fence handlers tell it what orders what. Knows nothing of registers. One thread.
///
/// Shared memory: per 4-byte word the last write and reads (warp, lane, its clock, op); warps carry vector
/// clocks that barriers join; orderings it cannot follow exactly count as ordered, so that it never raises a
/// false alarm. Global memory: per 4-byte word the last writing and reading block.
class Checker {
 public:
  explicit Checker(Launch& launch);
  ~Checker();

  /// Judges a warp-wide access of `bytes` at each lane in warp.mask & `mask`, at device addresses (global,
  /// constant) or byte offsets in the space (shared, local, parameters; shared_cluster offsets carry the
  /// rank). Records faults and returns the lanes that may continue: the others must not touch memory (their
  /// loads give zero).
  [[nodiscard]] std::uint32_t access(Warp& warp, const Op& op, Space space, const std::uint64_t* addresses,
                                     std::uint32_t mask, std::uint32_t bytes, AccessKind kind);
  /// The same for a whole warp, quickly. False: nothing has been recorded, and `access` must judge.
  [[nodiscard]] bool access_run(Warp& warp, const Op& op, Space space, const Run& run, AccessKind kind);
  /// The same for one range touched on behalf of one lane: matrix loads' rows, bulk copies.
  /// True: may continue.
  [[nodiscard]] bool access_range(Warp& warp, const Op& op, Space space, std::uint64_t address, int lane,
                                  std::uint64_t bytes, AccessKind kind);

  /// Stores of the last access that ran into another write, with nothing that orders the two: only who knows
  /// the values can say whether the order matters. They must be settled before the next access.
  [[nodiscard]] bool has_unsettled_stores() const;
  /// @param same lanes whose bytes are what memory already holds: a note is made of those, no fault.
  void settle_stores(std::uint32_t same);
  /// Lanes of one instruction store different values to the same `bytes` bytes at `to`.
  void stored_twice(Warp& warp, const Op& op, const std::byte* to, std::uint32_t bytes, int first,
                    int second);

  // Values that no one wrote (undefined_values.h); origins are numbers of where they came from.
  /// A lane's value decides something: `how` is "is used as an address" or the like.
  void undefined_used(Warp& warp, const Op& op, int lane, std::uint8_t origin, std::string_view how);
  /// A lane stored bytes of these origins at `to`.
  void undefined_stored(Warp& warp, const Op& op, int lane, std::byte* to,
                        std::span<const std::uint8_t> origins);
  /// Lane i of the running ones has got the 32 bits of lane lanes[i]. `to` and `from` have the rows of results and
  /// sources by lane. Of `inactive` lanes the source takes no part.
  using LaneSlots = std::array<Slot, kLanes>;
  void shuffled(Warp& warp, const Op& op, const LaneSlots& to, const LaneSlots& from,
                const std::int32_t* lanes, std::uint32_t inactive);

  void block_started(Block& block);
  void block_finished(Block& block);
  /// All of `lanes[w]` of warp w met at a barrier of the block (a bar.arrive only releases).
  void barrier_joined(Block& block, const std::vector<std::uint32_t>& lanes);
  void warp_synced(Warp& warp, std::uint32_t lanes);
  /// fence / membar of at least cta scope; `grid` or wider scope publishes global writes as well.
  void fenced(Warp& warp, bool grid);
  /// Release by `lanes` into, and acquire from, a synchronisation object in shared memory (an mbarrier).
  void released(Warp& warp, const Block& owner, std::uint32_t offset, std::uint32_t lanes);
  void acquired(Warp& warp, const Block& owner, std::uint32_t offset);
  void cluster_joined(const std::vector<Block*>& cluster);
  /// The asynchronous copies to [offset, offset + bytes) have completed and are visible to `lane` alone until
  /// the next synchronisation (cp.async), or to whoever acquires the barrier (lane < 0).
  void async_completed(Warp& warp, std::uint32_t offset, std::uint32_t bytes, int lane);

  /// What the launch has touched (LaunchReport::footprint).
  [[nodiscard]] std::shared_ptr<const LaunchFootprint> footprint() const;

  /// What it knows of asynchronous operations.
  [[nodiscard]] AsyncChecker& async();

 private:
  friend class AsyncChecker;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ak::emulator

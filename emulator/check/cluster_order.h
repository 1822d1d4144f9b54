// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "emulator/check/shadow_record.h"

namespace ak::emulator {

struct Block;

/// What orders the blocks of a cluster: barriers of the cluster, and what one block releases and another
/// acquires. All that a block released after an access counts as known to all that acquire later, so that no
/// order that exists is missed.
class ClusterOrder {
 public:
  [[nodiscard]] std::uint64_t now() const { return time_; }
  void started(const Block& block) { blocks_[&block] = {}; }
  void joined(const Block& block) { blocks_[&block].phase_began = ++time_, ++blocks_[&block].phase; }
  void released(const Block& block) { blocks_[&block].released = ++time_; }
  void acquired(const Block& block) {
    Times& times = blocks_[&block];
    times.acquired = ++time_;
    times.has_met = times.has_met || times.signalled;
  }
  /// Another block released into an mbarrier of this one.
  void signalled(const Block& block) { blocks_[&block].signalled = true; }
  /// The block synchronised with others through global memory.
  void met(const Block& block) { blocks_[&block].has_met = true; }
  /// Number of cluster barriers that the block has passed.
  [[nodiscard]] std::uint64_t phase(const Block& block) const { return at(block).phase; }
  /// When the block passed the last one.
  [[nodiscard]] std::uint64_t phase_began(const Block& block) const { return at(block).phase_began; }
  /// Whether `block` may know that the others have begun: it passed a cluster barrier, or heard
  /// of them otherwise.
  [[nodiscard]] bool has_met(const Block& block) const { return at(block).phase > 0 || at(block).has_met; }
  /// Whether what `first` did at `time`, since the last cluster barrier, may be known to `second`.
  [[nodiscard]] bool ordered(const Block& first, std::uint64_t time, const Block& second) const {
    return at(first).released > time && at(second).acquired > time;
  }

 private:
  struct Times {
    std::uint64_t phase_began = 0, released = 0, acquired = 0, phase = 0;
    bool signalled = false, has_met = false;
  };
  [[nodiscard]] Times at(const Block& block) const {
    const auto found = blocks_.find(&block);
    return found == blocks_.end() ? Times{} : found->second;
  }
  std::unordered_map<const Block*, Times> blocks_;
  std::uint64_t time_ = 0;
};

/// An access of another block to a word of shared memory.
struct ClusterAccess {
  Block* block = nullptr;
  std::uint64_t time = 0;
  std::uint32_t warp = 0, clock = 0;
  int lane = 0;
  Index op = kNone;
  std::uint8_t bytes = 0;  ///< of the word, a bit each
  bool strong = false;
  [[nodiscard]] ThreadRecord record() const {
    return {ThreadRecord::make(warp, clock, op, strong) | ThreadRecord::lane_bits(lane)};
  }
};

/// Accesses by other blocks to one block's shared memory since the last cluster barrier: the last write and
/// the last read of every word.
struct ClusterAccesses {
  std::unordered_map<std::uint32_t, ClusterAccess> writes, reads;
  [[nodiscard]] bool any() const { return !writes.empty() || !reads.empty(); }
  void clear() {
    writes.clear();
    reads.clear();
  }
};

}  // namespace ak::emulator

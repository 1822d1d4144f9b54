// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "emulator/check/shadow_record.h"
#include "emulator/check/vector_clock.h"

namespace ak::emulator {

/// What an instruction does to memory.
struct Touch {
  std::uint32_t warp = 0;
  Index op = kNone;
  std::uint32_t bytes = 0;  ///< per lane, a power of two
  bool reads = false, writes = false;
  bool strong = false;  ///< does not race with its like
  bool copy = false;    ///< a write that happens later
};

/// How the lanes of an access lie: known once, used by every step.
enum class LanePattern : std::uint8_t {
  uniform,      ///< all at one address
  consecutive,  ///< all 32, each right after the one before
  scattered,
};

/// The accesses of one instruction that nothing orders after an earlier one.
struct Conflict {
  std::uint32_t lanes = 0;  ///< that ran into it; 0: none
  int lane = 0;             ///< the first of them
  std::uint64_t at = 0;     ///< the byte, as an offset in the memory that is shadowed
  std::uint64_t record = 0;
  bool other_writes = false;
};

/// Who accessed each word of one block's shared memory, and what orders its warps. Kept from block to block:
/// clocks continue, so that what an earlier block left behind is older than everything.
///
/// Never raises a false alarm. It may miss: a read by a third warp since the last barrier, accesses to other
/// bytes of a word than the last one's, and whatever an over-approximated ordering hides.
class SharedShadow {
 public:
  void start(std::uint32_t warps, std::uint32_t shared_bytes);

  /// `offsets` of all 32 lanes lie in bounds; only those in `mask` count.
  [[nodiscard]] Conflict touch(const Touch& touch, const std::uint64_t* offsets, std::uint32_t mask,
                               LanePattern pattern);
  /// Lanes in `mask` at one offset, or all 32 one after the other, then of at least a word each.
  [[nodiscard]] Conflict touch_run(const Touch& touch, std::uint64_t offset, std::uint32_t mask,
                                   bool uniform);
  [[nodiscard]] Conflict touch_range(const Touch& touch, std::uint64_t offset, std::uint64_t bytes, int lane);
  /// A copy issued before has written its destination; lane < 0: the copy engine has, for who acquires.
  void completed(std::uint32_t warp, std::uint32_t offset, std::uint32_t bytes, int lane);

  void barrier(const std::vector<std::uint32_t>& lanes);
  void warp_synced(std::uint32_t warp);
  void fenced(std::uint32_t warp);
  /// An atomic or volatile access: publishes what was fenced before it, and sees what is published.
  void strong_access(std::uint32_t warp);
  void released(std::uint32_t warp, std::uint32_t object);
  /// Someone outside, who may have seen anything, releases into an object of this block.
  void released_from_outside(std::uint32_t object);
  void acquired(std::uint32_t warp, std::uint32_t object);

 private:
  struct WarpClock {
    std::uint32_t own = 1;  ///< seen.at[itself] is own - 1
    VectorClock seen;
    VectorClock fenced;  ///< everything before its last fence
    bool has_fenced = false;
    std::uint64_t limit = 0;  ///< records below it are ordered before whatever it does
  };
  struct Span;

  [[nodiscard]] VectorClock all_of(std::uint32_t index) const;
  void set_own(std::uint32_t index, std::uint32_t own);
  void see(std::uint32_t index, const VectorClock& what);
  void restart(std::uint32_t clock);
  void reset_clocks(std::uint32_t clock);

  [[nodiscard]] bool conflicts(const Touch& touch, ThreadRecord record, std::uint64_t mine,
                               bool was_read) const;
  bool judge(const Touch& touch, std::uint64_t word, std::uint64_t mine, Conflict& conflict) const;
  [[nodiscard]] Conflict touch_span(const Touch& touch, const Span& span);
  void record_span(const Touch& touch, const Span& span);
  [[nodiscard]] Conflict touch_scattered(const Touch& touch, const std::uint64_t* offsets,
                                         std::uint32_t mask);
  void record(const Touch& touch, std::uint64_t word, std::uint64_t mine);
  void record_read(std::uint64_t word, std::uint64_t mine, std::uint64_t limit);
  void record_write(std::uint64_t word, std::uint64_t mine);

  std::vector<std::uint64_t> writes_, reads_, older_reads_;  ///< ThreadRecords by word
  std::vector<WarpClock> warps_;
  VectorClock published_;
  std::map<std::uint32_t, VectorClock> objects_;  ///< by offset
  std::uint32_t copied_ = 0;                      ///< clock of the copy engine
  bool has_copies_ = false;
};

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "emulator/check/lane_clocks.h"
#include "emulator/check/proxy_fences.h"
#include "emulator/check/shadow_record.h"
#include "emulator/check/vector_clock.h"
#include "emulator/check/word_pages.h"

namespace ak::emulator {

/// What an instruction does to memory.
struct Touch {
  std::uint32_t warp = 0;
  Index op = kNone;
  std::uint32_t bytes = 0;  ///< per lane, a power of two
  bool reads = false, writes = false;
  bool strong = false;        ///< does not race with its like
  bool copy = false;          ///< a write that happens later
  bool async = false;         ///< through the async proxy: by a copy engine, or as an operand of wgmma
  bool collective = false;    ///< a read of the warp's, whichever lane stands for it: an operand of wgmma
  bool non_coherent = false;  ///< through a cache that writes of the launch do not reach
  /// Volatile, not atomic: between warps it is a way to talk, within a warp it orders nothing.
  bool is_volatile = false;
  std::uint32_t lanes = 0;  ///< that execute it together
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
  bool with_reads = false;  ///< some of them ran into a read, not into a write
  bool unfenced = false;    ///< in order, but between proxies without a fence
};

/// Who accessed each word of one block's shared memory, and what orders its warps. Kept from block to block:
/// clocks continue, so that what an earlier block left behind is older than everything.
///
/// The same is kept of the words of global memory that the block touches, while it runs.
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
  /// The same of global memory, whose offsets count from the arena's base.
  [[nodiscard]] Conflict touch_global(const Touch& touch, const std::uint64_t* offsets, std::uint32_t mask,
                                      LanePattern pattern);
  [[nodiscard]] Conflict touch_global_run(const Touch& touch, std::uint64_t offset, std::uint32_t mask,
                                          bool uniform);
  /// A copy issued before has written its destination; lane < 0: the copy engine has, for who acquires.
  void completed(std::uint32_t warp, std::uint32_t offset, std::uint32_t bytes, int lane);

  void barrier(const std::vector<std::uint32_t>& lanes);
  /// A barrier of `lanes` of a warp, of which `live` have not exited.
  void warp_synced(std::uint32_t warp, std::uint32_t lanes, std::uint32_t live);
  /// By `lanes` of a warp.
  void fenced(std::uint32_t warp, std::uint32_t lanes);
  /// An atomic or volatile access of `lanes`: publishes what these have fenced before it, and sees what is
  /// published.
  void strong_access(std::uint32_t warp, std::uint32_t lanes);
  /// By `lanes` of a warp, of which `live` have not exited. Lanes that are not among them release nothing but
  /// what they did before the warp last met.
  void released(std::uint32_t warp, std::uint32_t object, std::uint32_t lanes, std::uint32_t live);
  /// The same, into an object of another block.
  void released_to_outside(std::uint32_t warp, std::uint32_t lanes, std::uint32_t live);
  /// Someone outside, who may have seen all that is published, releases into an object of this block.
  void released_from_outside(std::uint32_t object);
  /// Other blocks may know of all that the warps have done.
  void publish_all();
  /// Whether others may know of an access that is recorded so; `mask`: the bytes they touch, as
  /// ThreadRecord::kMask.
  [[nodiscard]] bool has_published(ThreadRecord record, std::uint64_t mask) const;
  /// The same of the last accesses by `op` to a word of global memory, if any is recorded.
  [[nodiscard]] bool has_published_global(std::uint64_t word, Index op, std::uint64_t mask) const;
  /// Accesses to global memory that others may not know of: visit(word, op).
  void for_each_unpublished(const std::function<void(std::uint64_t, Index)>& visit) const;
  void acquired(std::uint32_t warp, std::uint32_t object);

  // For asynchronous operations (shared_shadow_async.cpp).
  [[nodiscard]] std::uint32_t clock_of(std::uint32_t warp) const { return warps_[warp].own; }
  /// Whether what `by` did at `clock` is known to come before whatever `warp` does now.
  [[nodiscard]] bool ordered(std::uint32_t warp, std::uint32_t by, std::uint32_t clock) const {
    return by == warp || clock <= warps_[warp].seen.latest(by);
  }
  [[nodiscard]] ThreadRecord last_write(std::uint64_t word) const { return {writes_[word]}; }
  [[nodiscard]] ThreadRecord last_read(std::uint64_t word) const { return {reads_[word]}; }
  /// Reads of chunks of 16 bytes that the warp has waited for: they come before what follows, and
  /// are judged already. Of no lane (< 0): the whole warp's.
  void read_asynchronously(std::uint32_t warp, int lane, Index op, std::span<const std::uint16_t> chunks);
  /// Someone outside has written: what was there before is gone.
  void forget_writes(std::uint64_t offset, std::uint64_t bytes);
  /// fence.proxy.async of `lanes`; `whole`: of all that run in the warp.
  void proxy_fenced(std::uint32_t warp, std::uint32_t lanes, bool whole);
  /// The first lane whose [offset, offset + bytes) was written without passing a proxy fence; `counts` says of
  /// which ops.
  [[nodiscard]] Conflict unfenced(const std::uint64_t* offsets, std::uint32_t mask, std::uint64_t bytes,
                                  const std::function<bool(Index)>& counts) const;

 private:
  /// A volatile instruction that lanes executed together.
  struct Lockstep {
    Index op = kNone;
    std::uint32_t clock = 0, lanes = 0;
  };
  struct WarpClock {
    std::uint32_t own = 1;
    VectorClock seen;                   ///< of itself: what all its lanes have seen of each other
    VectorClock fenced;                 ///< what any of its lanes knew of others at its last fence
    LaneRow fenced_at{};                ///< of `fenced_lanes`: their own clock then
    std::uint32_t fenced_lanes = 0;     ///< whose last fence is published by a later access of theirs alone
    std::uint64_t limit = 0;            ///< records below it are ordered before whatever it does
    std::shared_ptr<LaneClocks> lanes;  ///< once some of its lanes have met without the others
    std::array<Lockstep, 4> lockstep;   ///< its last volatile instructions
  };
  struct Span;

  [[nodiscard]] VectorClock all_of(std::uint32_t index) const;
  [[nodiscard]] VectorClock heard_by(std::uint32_t index, std::uint32_t lanes) const;
  [[nodiscard]] VectorClock known_to(std::uint32_t index, std::uint32_t lanes) const;
  void pass_fences(std::uint32_t index, std::uint32_t lanes, VectorClock& into);
  void set_own(std::uint32_t index, std::uint32_t own);
  void see(std::uint32_t index, const VectorClock& what);
  void restart(std::uint32_t clock);
  void reset_clocks(std::uint32_t clock);

  [[nodiscard]] bool conflicts(const Touch& touch, ThreadRecord record, std::uint64_t mine,
                               bool was_read) const;
  [[nodiscard]] bool relies_on_lockstep(const Touch& touch, ThreadRecord record, int lane) const;
  void note_lockstep(const Touch& touch);
  bool judge(const Touch& touch, const ShadowWords& at, std::uint64_t word, std::uint64_t mine,
             Conflict& conflict) const;
  [[nodiscard]] Conflict touch_span(const Touch& touch, const Span& span);
  void record_span(const Touch& touch, Span span);
  template <class Words>
  [[nodiscard]] Conflict touch_run_in(Words words, const Touch& touch, std::uint64_t offset,
                                      std::uint32_t mask, bool uniform);
  template <class Words>
  [[nodiscard]] Conflict touch_scattered(Words words, const Touch& touch, const std::uint64_t* offsets,
                                         std::uint32_t mask);
  void record(const Touch& touch, const ShadowWords& at, std::uint64_t mine);

  [[nodiscard]] ShadowWords shared_words(std::uint64_t word) {
    return {writes_.data() + word, reads_.data() + word, older_reads_.data() + word};
  }

  std::vector<std::uint64_t> writes_, reads_, older_reads_;  ///< ThreadRecords by word
  WordPages global_;
  std::vector<WarpClock> warps_;
  VectorClock published_;
  std::map<std::uint32_t, VectorClock> objects_;  ///< by offset
  std::uint32_t copied_ = 0;                      ///< clock of the copy engine
  bool has_copies_ = false;
  ProxyFences proxy_fences_;
};

}  // namespace ak::emulator

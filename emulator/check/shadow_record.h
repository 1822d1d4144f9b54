// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/lower/program.h"

namespace ak::emulator {

// What shadow memory holds per 4-byte word: who accessed it last, in 64 bits. 0: no one.

/// Op indices above are forgotten: the finding then names no instruction.
inline constexpr std::uint32_t kMaxRecordedOp = (1u << 18) - 1;
[[nodiscard]] inline std::uint32_t record_op(Index op) { return op < kMaxRecordedOp ? op : kMaxRecordedOp; }

/// An access to shared memory. A larger clock makes a larger number, and a pending copy the largest, so that
/// one comparison shows that most records are harmless.
struct ThreadRecord {
  static constexpr int kMaskShift = 18, kSharingShift = 23, kLaneShift = 25, kParticipantShift = 30,
                       kClockShift = 36;
  static constexpr std::uint64_t kOp = kMaxRecordedOp;
  static constexpr std::uint64_t kMask = 0xFull << kMaskShift;  ///< bytes of the word
  static constexpr std::uint64_t kStrong = 1ull << 22;          ///< atomic, volatile, relaxed
  static constexpr std::uint64_t kSharing = 3ull << kSharingShift;
  static constexpr std::uint64_t kLane = 31ull << kLaneShift;
  static constexpr std::uint64_t kParticipant = 63ull << kParticipantShift;
  static constexpr std::uint64_t kMaxClock = (1ull << 26) - 1;
  static constexpr std::uint64_t kClock = kMaxClock << kClockShift;
  /// A copy that has not been waited for; of the copy engine: one that has ended, seen by who acquires it.
  static constexpr std::uint64_t kPending = 1ull << 62;

  /// Whether other lanes of the same warp made the same access at the same clock.
  enum Sharing : std::uint64_t {
    alone = 0ull << kSharingShift,
    several = 1ull << kSharingShift,  ///< all of them the whole word
    mixed = 2ull << kSharingShift,    ///< some of them other bytes: who touched which is not known
    /// A read by the whole warp, of which each lane knows after its wait that it is over (operands of wgmma).
    collective = 3ull << kSharingShift,
  };

  std::uint64_t bits = 0;
  [[nodiscard]] std::uint32_t clock() const {
    return static_cast<std::uint32_t>((bits & kClock) >> kClockShift);
  }
  [[nodiscard]] std::uint32_t participant() const {
    return static_cast<std::uint32_t>((bits & kParticipant) >> kParticipantShift);
  }
  [[nodiscard]] int lane() const { return static_cast<int>((bits & kLane) >> kLaneShift); }
  [[nodiscard]] std::uint64_t sharing() const { return bits & kSharing; }
  [[nodiscard]] bool pending() const { return (bits & kPending) != 0; }
  [[nodiscard]] bool strong() const { return (bits & kStrong) != 0; }
  [[nodiscard]] Index op() const {
    const auto index = static_cast<Index>(bits & kOp);
    return index == kMaxRecordedOp ? kNone : index;
  }
  [[nodiscard]] static std::uint64_t lane_bits(int lane) {
    return static_cast<std::uint64_t>(lane) << kLaneShift;
  }
  [[nodiscard]] static std::uint64_t make(std::uint32_t participant, std::uint32_t clock, Index op,
                                          bool strong) {
    return std::uint64_t{participant} << kParticipantShift | std::uint64_t{clock} << kClockShift |
           record_op(op) | (strong ? kStrong : 0);
  }
};

/// An access to global memory: only the block is known. Of several readers one is recorded with its bytes,
/// and which of these another has read too: blocks that read different parts of a word do not clash with a
/// writer among them.
struct BlockRecord {
  static constexpr int kMaskShift = 18, kSharedShift = 24, kBlockShift = 32;
  static constexpr std::uint64_t kOp = kMaxRecordedOp;
  static constexpr std::uint64_t kMask = 0xFull << kMaskShift;
  static constexpr std::uint64_t kStrong = 1ull << 22;
  static constexpr std::uint64_t kUnpublished = 1ull << 23;  ///< the block has ended and never published it
  static constexpr std::uint64_t kShared = 0xFull << kSharedShift;  ///< bytes that other blocks read too

  std::uint64_t bits = 0;
  [[nodiscard]] std::uint32_t block() const { return static_cast<std::uint32_t>(bits >> kBlockShift) - 1; }
  [[nodiscard]] bool strong() const { return (bits & kStrong) != 0; }
  [[nodiscard]] bool several() const { return (bits & kShared) != 0; }
  [[nodiscard]] bool unpublished() const { return (bits & kUnpublished) != 0; }
  [[nodiscard]] Index op() const { return ThreadRecord{bits & kOp}.op(); }
  [[nodiscard]] static std::uint64_t make(std::uint32_t block, Index op, bool strong) {
    return (std::uint64_t{block} + 1) << kBlockShift | record_op(op) | (strong ? kStrong : 0);
  }
};

}  // namespace ak::emulator

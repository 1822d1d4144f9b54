// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "emulator/lower/program.h"

namespace ak::emulator {

/// Who reads shared memory asynchronously, and waits for groups of such reads: a thread for its bulk copies,
/// a warp for its wgmma.
struct AsyncReader {
  static constexpr int kWholeWarp = -1;
  std::uint32_t warp = 0;
  int lane = kWholeWarp;
  auto operator<=>(const AsyncReader&) const = default;
};

/// Shared memory is read asynchronously in whole chunks of 16 bytes. Their numbers fit, since a block has
/// less than 1 MiB.
using Chunk = std::uint16_t;
inline constexpr std::uint32_t kChunkBytes = 16;
/// The chunks of [offset, offset + bytes).
[[nodiscard]] std::vector<Chunk> chunks_of(std::uint32_t offset, std::uint64_t bytes);

/// One instruction whose reads may happen at any time until its reader waits.
struct AsyncRead {
  Index op = kNone;
  std::uint32_t clock = 0;  ///< of the reader's warp when it began
  std::vector<Chunk> chunks;
};

/// Reads of one block's shared memory that have begun and that nobody has waited for.
class AsyncReads {
 public:
  void start(std::uint32_t shared_bytes);
  [[nodiscard]] bool any() const { return count_ != 0; }

  void begin(const AsyncReader& reader, Index op, std::uint32_t clock, std::span<const Chunk> chunks);
  void commit(const AsyncReader& reader);
  /// The reads of all groups of `reader` but the newest `groups_left` have happened: these are they. What is
  /// not committed stays.
  [[nodiscard]] std::vector<AsyncRead> wait(const AsyncReader& reader, std::size_t groups_left);

  struct Found {
    AsyncReader reader;
    Index op = kNone;
    std::uint32_t at = 0;  ///< first common byte
  };
  /// A read that overlaps [offset, offset + bytes); `found.op` is kNone when there is none.
  [[nodiscard]] Found overlapping(std::uint32_t offset, std::uint32_t bytes) const;

 private:
  using Group = std::vector<AsyncRead>;

  /// Chunks that are followed at a time (chosen: far beyond any pipeline); no others are.
  static constexpr std::uint64_t kMaxPending = 1u << 20;

  std::vector<std::uint32_t> readers_;                ///< by chunk
  std::uint64_t count_ = 0;                           ///< of chunks that are read, as often as they are
  std::map<AsyncReader, std::vector<Group>> groups_;  ///< oldest first, the last one open
};

}  // namespace ak::emulator

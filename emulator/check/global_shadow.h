// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/check/shared_shadow.h"

namespace ak::emulator {

/// Which block wrote and read each word of global memory last, in one launch. Costs memory only for pages of
/// the arena that are written, or read and not read-only.
///
/// Two blocks conflict when they touch the same bytes, one of them writes, not both are atomic, and nothing
/// orders them. Once a block has released for the whole grid, everything that it has published, whenever, counts
/// as ordered before whoever acquires after that, so that there are no false alarms.
class GlobalShadow {
 public:
  /// @param published whether a block that runs has published its access of `record` to a word, of which
  /// someone else touches the bytes in `mask`.
  using Published = std::function<bool(BlockRecord record, std::uint64_t word, std::uint64_t mask)>;
  explicit GlobalShadow(Published published) : published_(std::move(published)) {}

  /// Offsets count from the arena's base. touch.warp is not looked at.
  [[nodiscard]] Conflict touch(const Touch& touch, std::uint32_t block, const std::uint64_t* offsets,
                               std::uint32_t mask, LanePattern pattern);
  /// All of [offset, offset + bytes), whole words, by accesses that are not strong. False: other blocks have
  /// been there; nothing is recorded, and `touch` must judge.
  [[nodiscard]] bool touch_run(const Touch& touch, std::uint32_t block, std::uint64_t offset,
                               std::uint64_t bytes);
  [[nodiscard]] Conflict touch_range(const Touch& touch, std::uint32_t block, std::uint64_t offset,
                                     std::uint64_t bytes, int lane);
  /// The record of a write to some of these bytes; of none it has no bits.
  [[nodiscard]] BlockRecord write_in(std::uint64_t offset, std::uint64_t bytes) const;
  void released(std::uint32_t block);
  void acquired(std::uint32_t block);
  [[nodiscard]] bool has_released(std::uint32_t block) const { return first_release_.contains(block); }
  /// The block has ended, and has not published what it did to this word by `op`.
  void never_published(std::uint32_t block, std::uint64_t word, Index op);

 private:
  struct Free {
    void operator()(std::uint64_t* page) const noexcept { std::free(page); }
  };
  using Page = std::unique_ptr<std::uint64_t[], Free>;
  struct Pages {
    std::vector<Page> pages;
    [[nodiscard]] std::uint64_t* find(std::uint64_t word) const;
    [[nodiscard]] std::uint64_t* make(std::uint64_t word);
  };
  [[nodiscard]] bool ordered(BlockRecord record, std::uint64_t mine, std::uint64_t word) const;
  [[nodiscard]] bool conflicts(std::uint64_t record, std::uint64_t mine, std::uint64_t word) const;
  bool touch_word(const Touch& touch, std::uint64_t word, std::uint64_t mine, Conflict& conflict);
  void touch_words(const Touch& touch, std::uint64_t word, std::uint64_t count, std::uint64_t mine, int lane,
                   Conflict& conflict);
  [[nodiscard]] bool touch_span(const Touch& touch, std::uint64_t word, std::uint64_t count,
                                std::uint64_t mine);

  Published published_;
  Pages writes_, reads_;
  std::uint64_t time_ = 0;  ///< counts releases and acquisitions
  std::unordered_map<std::uint32_t, std::uint64_t> first_release_, last_acquire_;  ///< by block
};

}  // namespace ak::emulator

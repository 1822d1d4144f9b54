// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <new>

#include "emulator/check/global_shadow.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {
namespace {

using GlobalRecord = BlockRecord;

constexpr int kPageShift = 14;  ///< words of a page: 64 KiB of memory (chosen: 128 KiB of records)
constexpr std::uint64_t kPageWords = 1ull << kPageShift;

std::uint64_t global_mask(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t ones = bytes >= 4 ? 0xF : (1ull << bytes) - 1;
  return (ones << (offset & 3)) << GlobalRecord::kMaskShift & GlobalRecord::kMask;
}

bool same_block(std::uint64_t record, std::uint64_t mine) {
  return ((record ^ mine) >> GlobalRecord::kBlockShift) == 0;
}

/// Bytes that another block than mine has touched, where a record's mask is.
std::uint64_t foreign_bytes(std::uint64_t record, std::uint64_t mine) {
  const std::uint64_t shared =
      (record & GlobalRecord::kShared) >> (GlobalRecord::kSharedShift - GlobalRecord::kMaskShift);
  return record == 0 || same_block(record, mine) ? shared : record & GlobalRecord::kMask;
}

/// A further block reads: the one that read more of the word is recorded.
std::uint64_t with_reader(std::uint64_t record, std::uint64_t mine) {
  const std::uint64_t both = record & mine;
  const bool more = std::popcount(mine & GlobalRecord::kMask) > std::popcount(record & GlobalRecord::kMask);
  return ((more ? mine : record) & ~GlobalRecord::kStrong) | (both & GlobalRecord::kStrong) |
         (record & GlobalRecord::kShared) |
         (both & GlobalRecord::kMask) << (GlobalRecord::kSharedShift - GlobalRecord::kMaskShift);
}

/// Top bit: records of other blocks. They lie below 2^63, since blocks are numbered below 2^31.
std::uint64_t foreign(std::uint64_t record, std::uint64_t mine) {
  const std::uint64_t difference = (record ^ mine) >> GlobalRecord::kBlockShift;
  return (0 - record) & (0 - difference);
}

}  // namespace

std::uint64_t* GlobalShadow::Pages::find(std::uint64_t word) const {
  const std::uint64_t page = word >> kPageShift;
  return page < pages.size() && pages[page] != nullptr ? pages[page].get() + word % kPageWords : nullptr;
}

std::uint64_t* GlobalShadow::Pages::make(std::uint64_t word) {
  const std::uint64_t index = word >> kPageShift;
  if (index >= pages.size()) pages.resize(index + 1);
  Page& page = pages[index];
  if (page == nullptr) {
    page.reset(static_cast<std::uint64_t*>(std::calloc(kPageWords, sizeof(std::uint64_t))));
    if (page == nullptr) throw std::bad_alloc();
  }
  return page.get() + word % kPageWords;
}

bool GlobalShadow::ordered(BlockRecord record, std::uint64_t mine, std::uint64_t word) const {
  const auto acquire = last_acquire_.find(BlockRecord{mine}.block());
  if (acquire == last_acquire_.end()) return false;
  // Which other blocks read is not known: one that was acquired from may be all of them.
  if (record.several()) return true;
  const auto release = first_release_.find(record.block());
  return release != first_release_.end() && release->second < acquire->second && !record.unpublished() &&
         published_(record, word, mine & GlobalRecord::kMask);
}

bool GlobalShadow::conflicts(std::uint64_t record, std::uint64_t mine, std::uint64_t word) const {
  if ((foreign_bytes(record, mine) & mine & GlobalRecord::kMask) == 0) return false;
  if ((record & mine & GlobalRecord::kStrong) != 0) return false;
  return !ordered({record}, mine, word);
}

bool GlobalShadow::touch_word(const Touch& touch, std::uint64_t word, std::uint64_t mine,
                              Conflict& conflict) {
  const std::uint64_t *write = writes_.find(word), *read = reads_.find(word);
  const bool after_write = write != nullptr && conflicts(*write, mine, word);
  const bool after_read = !after_write && touch.writes && read != nullptr && conflicts(*read, mine, word);
  if ((after_write || after_read) && conflict.lanes == 0) {
    const std::uint64_t found = after_write ? *write : *read;
    const std::uint64_t common =
        (foreign_bytes(found, mine) & mine & GlobalRecord::kMask) >> GlobalRecord::kMaskShift;
    conflict = {.lanes = 0,
                .lane = 0,
                .at = word * 4 + static_cast<std::uint64_t>(std::countr_zero(common)),
                .record = found,
                .other_writes = after_write,
                .with_reads = conflict.with_reads};
  }
  conflict.with_reads |= after_read;
  std::uint64_t& record = *(touch.writes ? writes_ : reads_).make(word);
  if (record != 0 && same_block(record, mine)) {
    const std::uint64_t both = record & mine & GlobalRecord::kStrong;
    mine = (mine & ~GlobalRecord::kStrong) | both | (record & (GlobalRecord::kMask | GlobalRecord::kShared));
  } else if (!touch.writes && record != 0 && !ordered({record}, mine, word)) {
    mine = with_reader(record, mine);
  }
  record = mine;
  return after_write || after_read;
}

void GlobalShadow::touch_words(const Touch& touch, std::uint64_t word, std::uint64_t count,
                               std::uint64_t mine, int lane, Conflict& conflict) {
  for (std::uint64_t k = 0; k < count; ++k) {
    const bool first = conflict.lanes == 0;
    if (!touch_word(touch, word + k, mine, conflict)) continue;
    conflict.lanes |= 1u << lane;
    if (first) conflict.lane = lane;
  }
}

// Whole words that no other block has touched, inside one page: the only case that must be fast.
bool GlobalShadow::touch_span(const Touch& touch, std::uint64_t word, std::uint64_t count,
                              std::uint64_t mine) {
  if ((word ^ (word + count - 1)) >> kPageShift != 0) return false;
  const std::uint64_t *write = writes_.find(word), *read = reads_.find(word);
  std::uint64_t others = 0;
  if (write != nullptr) {
    for (std::uint64_t k = 0; k < count; ++k) others |= foreign(write[k], mine);
  }
  if (read != nullptr) {
    for (std::uint64_t k = 0; k < count; ++k)
      others |= foreign(read[k], mine) | (0 - (read[k] & GlobalRecord::kShared));
  }
  if (static_cast<std::int64_t>(others) < 0) return false;
  std::uint64_t* record = (touch.writes ? writes_ : reads_).make(word);
  for (std::uint64_t k = 0; k < count; ++k) record[k] = mine;
  return true;
}

Conflict GlobalShadow::touch(const Touch& touch, std::uint32_t block, const std::uint64_t* offsets,
                             std::uint32_t mask, LanePattern pattern) {
  const std::uint64_t base = GlobalRecord::make(block, touch.op, touch.strong);
  const std::uint64_t words = std::max(1u, touch.bytes / 4);
  // Strong accesses merge with the plain ones of their block: word by word.
  const bool whole = pattern == LanePattern::consecutive && touch.bytes >= 4 && !touch.strong;
  if (whole && touch_span(touch, offsets[0] / 4, words * kLanes, base | GlobalRecord::kMask)) return {};
  Conflict conflict;
  if (pattern == LanePattern::uniform) {
    touch_words(touch, offsets[0] / 4, words, base | global_mask(offsets[0], touch.bytes),
                std::countr_zero(mask), conflict);
    if (conflict.lanes != 0) conflict.lanes = mask;
    return conflict;
  }
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    touch_words(touch, offsets[lane] / 4, words, base | global_mask(offsets[lane], touch.bytes), lane,
                conflict);
  }
  return conflict;
}

bool GlobalShadow::touch_run(const Touch& touch, std::uint32_t block, std::uint64_t offset,
                             std::uint64_t bytes) {
  return touch_span(touch, offset / 4, bytes / 4,
                    GlobalRecord::make(block, touch.op, false) | GlobalRecord::kMask);
}

Conflict GlobalShadow::touch_range(const Touch& touch, std::uint32_t block, std::uint64_t offset,
                                   std::uint64_t bytes, int lane) {
  const std::uint64_t base = GlobalRecord::make(block, touch.op, touch.strong), end = offset + bytes;
  Conflict conflict;
  while (offset < end) {
    const bool whole = offset % 4 == 0 && end - offset >= 4;
    const std::uint64_t part = whole ? (end - offset) / 4 * 4 : std::min(end - offset, 4 - offset % 4);
    const std::uint64_t count = whole ? part / 4 : 1, mine = base | global_mask(offset, whole ? 4 : part);
    if (!whole || !touch_span(touch, offset / 4, count, mine))
      touch_words(touch, offset / 4, count, mine, lane, conflict);
    offset += part;
  }
  return conflict;
}

BlockRecord GlobalShadow::write_in(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset; at < end; at = at / 4 * 4 + 4) {
    const std::uint64_t* const record = writes_.find(at / 4);
    if (record != nullptr && (*record & global_mask(at, std::min(end - at, 4 - at % 4))) != 0)
      return {*record};
  }
  return {};
}

void GlobalShadow::released(std::uint32_t block) { first_release_.try_emplace(block, ++time_); }

void GlobalShadow::acquired(std::uint32_t block) { last_acquire_[block] = ++time_; }

void GlobalShadow::never_published(std::uint32_t block, std::uint64_t word, Index op) {
  for (const Pages* pages : {&writes_, &reads_}) {
    std::uint64_t* const record = pages->find(word);
    const bool same = record != nullptr && *record != 0 && BlockRecord{*record}.block() == block;
    if (same && BlockRecord{*record}.op() == op) *record |= GlobalRecord::kUnpublished;
  }
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "emulator/check/shared_shadow.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {
namespace {

using SharedRecord = ThreadRecord;

// Half of all numbers is left for one block; clocks start again from zero when a block begins beyond.
constexpr std::uint32_t kLatestStart = SharedRecord::kMaxClock / 2;

/// Bytes [offset % 4, offset % 4 + bytes) of a word as ThreadRecord::kMask.
std::uint64_t shared_mask(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t ones = bytes >= 4 ? 0xF : (1ull << bytes) - 1;
  return (ones << (offset & 3)) << SharedRecord::kMaskShift & SharedRecord::kMask;
}

// Comparisons whose result is the top bit, for operands below 2^63: sums of them vectorise.
std::uint64_t not_below(std::uint64_t value, std::uint64_t limit) { return limit - 1 - value; }
std::uint64_t not_zero(std::uint64_t value) { return value | (0 - value); }
bool top(std::uint64_t value) { return static_cast<std::int64_t>(value) < 0; }

/// Top bit: the record is not ordered before everything (`limit`), nor one of the same thread.
std::uint64_t suspect(std::uint64_t record, std::uint64_t mine, std::uint64_t limit) {
  constexpr std::uint64_t kSameThread =
      SharedRecord::kParticipant | SharedRecord::kLane | SharedRecord::kPending | SharedRecord::kSharing;
  return not_below(record, limit) & not_zero((record ^ mine) & kSameThread);
}

std::uint64_t shared_by_lanes(std::uint64_t mine, bool writes) {
  const bool whole = (mine & SharedRecord::kMask) == SharedRecord::kMask;
  return mine | (whole && !writes ? SharedRecord::several : SharedRecord::mixed);
}

bool is_collective(std::uint64_t record) {
  return ThreadRecord{record}.sharing() == SharedRecord::collective;
}
std::uint64_t sharing_of(const Touch& touch) {
  return touch.collective ? SharedRecord::collective : SharedRecord::alone;
}

/// The record is of a warp of which more is known of single lanes than of all: whether it is of such.
bool ordered_by_lane(const VectorClock& seen, ThreadRecord record, std::uint64_t mine) {
  const LaneRow* const row = seen.row(record.participant());
  if (row == nullptr) return false;
  if (record.clock() <= (*row)[static_cast<std::size_t>(record.lane())]) return true;
  // Which lane touched the common bytes is not known; of a collective read each lane knows that it is over.
  const bool any = is_collective(record.bits) || (record.sharing() == SharedRecord::mixed &&
                                                  (record.bits & ~mine & SharedRecord::kMask) != 0);
  return any && record.clock() <= seen.lanes->latest(record.participant());
}

/// The first of several lanes that clash is the one that is named.
void add_conflict(Conflict& all, const Conflict& more) {
  const std::uint32_t lanes = all.lanes | more.lanes;
  const bool with_reads = all.with_reads || more.with_reads;
  if (all.lanes == 0) all = more;
  all.lanes = lanes;
  all.with_reads = with_reads;
}

}  // namespace

/// Words that lie one after the other: record of word k is base, in lane (first + k >> shift) further.
struct SharedShadow::Span {
  ShadowWords at;
  std::uint64_t word, count, base;
  int shift;
  std::uint64_t first = 0;  ///< of the instruction's words
  [[nodiscard]] std::uint64_t mine(std::uint64_t k) const {
    return base + (((first + k) >> shift) << SharedRecord::kLaneShift);
  }
};

// ---- judging

bool SharedShadow::conflicts(const Touch& touch, ThreadRecord record, std::uint64_t mine,
                             bool was_read) const {
  if ((record.bits & mine & SharedRecord::kMask) == 0) return false;
  if (record.strong() && touch.strong && !relies_on_lockstep(touch, record, ThreadRecord{mine}.lane()))
    return false;
  const std::uint32_t participant = record.participant();
  const VectorClock& seen = warps_[touch.warp].seen;
  const ThreadRecord own{mine};
  if (record.pending() && participant != kCopyEngine)
    return !(touch.copy && participant == touch.warp && record.lane() == own.lane());
  if (record.clock() <= seen.at[participant] || ordered_by_lane(seen, record, mine)) return false;
  if (participant != touch.warp) return true;
  if (is_collective(record.bits)) return false;
  const LaneClocks* lanes = warps_[touch.warp].lanes.get();
  if (lanes != nullptr && lanes->ordered(record.lane(), record.clock(), own.lane())) return false;
  if (record.sharing() == SharedRecord::several) return was_read;
  if (record.sharing() == SharedRecord::mixed) return false;
  return record.lane() != own.lane() || own.sharing() != SharedRecord::alone;
}

// Volatile accesses talk between warps. A lane that took part in the earlier access too talks to no one: it
// takes it for granted that all have done that one before any goes on, which only a warp barrier makes true.
bool SharedShadow::relies_on_lockstep(const Touch& touch, ThreadRecord record, int lane) const {
  if (!touch.is_volatile || record.participant() != touch.warp) return false;
  const auto& recent = warps_[touch.warp].lockstep;
  return std::any_of(recent.begin(), recent.end(), [&](const Lockstep& before) {
    const std::uint32_t both = 1u << lane | 1u << record.lane();
    return before.op == record.op() && before.clock == record.clock() && (before.lanes & both) == both;
  });
}

void SharedShadow::note_lockstep(const Touch& touch) {
  if (!touch.is_volatile) return;
  WarpClock& warp = warps_[touch.warp];
  std::rotate(warp.lockstep.begin(), warp.lockstep.end() - 1, warp.lockstep.end());
  warp.lockstep.front() = {touch.op, warp.own, touch.lanes};
}

bool SharedShadow::judge(const Touch& touch, const ShadowWords& at, std::uint64_t word, std::uint64_t mine,
                         Conflict& conflict) const {
  std::uint64_t found = 0;
  bool other_writes = false;
  if (conflicts(touch, {*at.writes}, mine, false)) {
    found = *at.writes;
    other_writes = true;
  } else if (touch.writes && conflicts(touch, {*at.reads}, mine, true)) {
    found = *at.reads;
  } else if (touch.writes && conflicts(touch, {*at.older_reads}, mine, true)) {
    found = *at.older_reads;
  }
  if (found == 0) return false;
  const int lane = ThreadRecord{mine}.lane();
  if (conflict.lanes == 0) {
    const std::uint64_t common = (found & mine & SharedRecord::kMask) >> SharedRecord::kMaskShift;
    conflict = {.lanes = 0,
                .lane = lane,
                .at = word * 4 + static_cast<std::uint64_t>(std::countr_zero(common)),
                .record = found,
                .other_writes = other_writes,
                .with_reads = conflict.with_reads};
  }
  conflict.lanes |= 1u << lane;
  conflict.with_reads |= !other_writes;
  return true;
}

Conflict SharedShadow::touch_span(const Touch& touch, const Span& span) {
  const std::uint64_t limit = warps_[touch.warp].limit;
  const std::uint64_t *writes = span.at.writes, *reads = span.at.reads, *older = span.at.older_reads;
  std::uint64_t conflict_bits = 0;
  for (std::uint64_t k = 0; k < span.count; ++k) conflict_bits |= suspect(writes[k], span.mine(k), limit);
  if (touch.writes) {
    for (std::uint64_t k = 0; k < span.count; ++k)
      conflict_bits |= suspect(reads[k], span.mine(k), limit) | suspect(older[k], span.mine(k), limit);
  }
  Conflict conflict;
  if (top(conflict_bits)) {
    for (std::uint64_t k = 0; k < span.count; ++k)
      judge(touch, span.at.from(k), span.word + k, span.mine(k), conflict);
  }
  record_span(touch, span);
  return conflict;
}

template <class Words>
Conflict SharedShadow::touch_scattered(Words words, const Touch& touch, const std::uint64_t* offsets,
                                       std::uint32_t mask) {
  const std::uint64_t limit = warps_[touch.warp].limit, count = std::max(1u, touch.bytes / 4);
  const std::uint64_t base = SharedRecord::make(touch.warp, warps_[touch.warp].own, touch.op, touch.strong);
  std::uint32_t conflict_bits = 0;
  alignas(64) std::uint64_t mine[kLanes];
  ShadowWords at[kLanes];
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    mine[lane] = base | SharedRecord::lane_bits(lane) | shared_mask(offsets[lane], touch.bytes);
    at[lane] = words(offsets[lane] / 4);
    std::uint64_t conflict_bit = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      conflict_bit |= suspect(at[lane].writes[k], mine[lane], limit);
      if (touch.writes)
        conflict_bit |= suspect(at[lane].reads[k], mine[lane], limit) |
                        suspect(at[lane].older_reads[k], mine[lane], limit);
    }
    conflict_bits |= static_cast<std::uint32_t>(top(conflict_bit)) << lane;
  }
  Conflict conflict;
  for (std::uint32_t left = conflict_bits; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (std::uint64_t k = 0; k < count; ++k)
      judge(touch, at[lane].from(k), offsets[lane] / 4 + k, mine[lane], conflict);
  }
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (std::uint64_t k = 0; k < count; ++k) record(touch, at[lane].from(k), mine[lane]);
  }
  return conflict;
}

template <class Words>
Conflict SharedShadow::touch_run_in(Words words, const Touch& touch, std::uint64_t offset, std::uint32_t mask,
                                    bool uniform) {
  const std::uint64_t lane_words = std::max(1u, touch.bytes / 4);
  const std::uint64_t base = SharedRecord::make(touch.warp, warps_[touch.warp].own, touch.op, touch.strong) |
                             shared_mask(offset, touch.bytes);
  const std::uint64_t word = offset / 4;
  if (!uniform) {
    const std::uint64_t count = lane_words * kLanes;
    Conflict conflict;
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t here = std::min(count - done, Words::kRun - (word + done) % Words::kRun);
      const Conflict found = touch_span(touch, {.at = words(word + done),
                                                .word = word + done,
                                                .count = here,
                                                .base = base,
                                                .shift = std::countr_zero(lane_words),
                                                .first = done});
      if (found.lanes != 0) [[unlikely]]
        add_conflict(conflict, found);
      done += here;
    }
    return conflict;
  }
  // Of lanes that read one word the last stands for all: it is seldom the one that signals for the others.
  const int first = std::countr_zero(mask), last = 31 - std::countl_zero(mask);
  const std::uint64_t mine = base | SharedRecord::lane_bits(touch.writes ? first : last);
  const bool one = std::popcount(mask) == 1;
  Conflict conflict = touch_span(touch, {.at = words(word),
                                         .word = word,
                                         .count = lane_words,
                                         .base = one ? mine : shared_by_lanes(mine, touch.writes),
                                         .shift = 63});
  if (conflict.lanes == 0) return conflict;
  conflict.lanes = mask;
  conflict.lane = first;
  // Of the lanes that all did it, name another than the one that they clash with.
  const ThreadRecord other{conflict.record};
  const std::uint32_t others = mask & ~(1u << other.lane());
  if (other.participant() == touch.warp && others != 0) conflict.lane = std::countr_zero(others);
  return conflict;
}

namespace {

/// Finds the shadow of a word, and says after how many words that of the next may lie elsewhere.
template <class Find, std::uint64_t Run>
struct WordFinder {
  static constexpr std::uint64_t kRun = Run;
  Find find;
  [[nodiscard]] ShadowWords operator()(std::uint64_t word) const { return find(word); }
};
template <std::uint64_t Run, class Find>
WordFinder<Find, Run> word_finder(Find find) {
  return {find};
}

}  // namespace

Conflict SharedShadow::touch_run(const Touch& touch, std::uint64_t offset, std::uint32_t mask, bool uniform) {
  const auto words = word_finder<1ull << 40>([this](std::uint64_t word) { return shared_words(word); });
  const Conflict conflict = touch_run_in(words, touch, offset, mask, uniform);
  note_lockstep(touch);
  return conflict;
}

Conflict SharedShadow::touch_global_run(const Touch& touch, std::uint64_t offset, std::uint32_t mask,
                                        bool uniform) {
  const auto words =
      word_finder<WordPages::kPageWords>([this](std::uint64_t word) { return global_.at(word); });
  return touch_run_in(words, touch, offset, mask, uniform);
}

Conflict SharedShadow::touch(const Touch& touch, const std::uint64_t* offsets, std::uint32_t mask,
                             LanePattern pattern) {
  const bool uniform = pattern == LanePattern::uniform;
  if (uniform || (pattern == LanePattern::consecutive && touch.bytes >= 4))
    return touch_run(touch, offsets[0], mask, uniform);
  const auto words = word_finder<1ull << 40>([this](std::uint64_t word) { return shared_words(word); });
  const Conflict conflict = touch_scattered(words, touch, offsets, mask);
  note_lockstep(touch);
  return conflict;
}

Conflict SharedShadow::touch_global(const Touch& touch, const std::uint64_t* offsets, std::uint32_t mask,
                                    LanePattern pattern) {
  const bool uniform = pattern == LanePattern::uniform;
  if (uniform || (pattern == LanePattern::consecutive && touch.bytes >= 4))
    return touch_global_run(touch, offsets[0], mask, uniform);
  const auto words =
      word_finder<WordPages::kPageWords>([this](std::uint64_t word) { return global_.at(word); });
  return touch_scattered(words, touch, offsets, mask);
}

Conflict SharedShadow::touch_range(const Touch& touch, std::uint64_t offset, std::uint64_t bytes, int lane) {
  const std::uint64_t base = SharedRecord::make(touch.warp, warps_[touch.warp].own, touch.op, touch.strong) |
                             SharedRecord::lane_bits(lane);
  const std::uint64_t end = offset + bytes;
  Conflict conflict;
  while (offset < end) {
    const bool whole = offset % 4 == 0 && end - offset >= 4;
    const std::uint64_t part = whole ? (end - offset) / 4 * 4 : std::min(end - offset, 4 - offset % 4);
    const Conflict here = touch_span(touch, {.at = shared_words(offset / 4),
                                             .word = offset / 4,
                                             .count = whole ? part / 4 : 1,
                                             .base = base | shared_mask(offset, whole ? 4 : part),
                                             .shift = 63});
    if (conflict.lanes == 0) conflict = here;
    offset += part;
  }
  return conflict;
}

// ---- recording

namespace {

void record_read(const ShadowWords& at, std::uint64_t mine, std::uint64_t limit) {
  const std::uint64_t before = *at.reads;
  if (((before ^ mine) & (SharedRecord::kClock | SharedRecord::kParticipant)) != 0 ||
      is_collective(before) != is_collective(mine)) {
    if (before >= limit) *at.older_reads = before;
    *at.reads = mine;
    return;
  }
  if (is_collective(mine)) {
    *at.reads = mine;
    return;
  }
  const std::uint64_t both = before & mine, either = before | mine;
  const bool one = ((before ^ mine) & SharedRecord::kLane) == 0;
  std::uint64_t sharing = either & SharedRecord::kSharing;
  if (!one || sharing != 0) {
    const bool whole =
        (both & SharedRecord::kMask) == SharedRecord::kMask && (sharing & SharedRecord::mixed) == 0;
    sharing = whole ? SharedRecord::several : SharedRecord::mixed;
  }
  constexpr std::uint64_t kMerged = SharedRecord::kMask | SharedRecord::kSharing | SharedRecord::kStrong;
  // The last lane stands for all, as in touch_run_in.
  const bool earlier_is_last = (before & SharedRecord::kLane) > (mine & SharedRecord::kLane);
  *at.reads = ((earlier_is_last ? before : mine) & ~kMerged) | (either & SharedRecord::kMask) |
              (both & SharedRecord::kStrong) | sharing;
}

void record_write(const ShadowWords& at, std::uint64_t mine) {
  const std::uint64_t before = *at.writes;
  const bool joins =
      ((before ^ mine) & (SharedRecord::kClock | SharedRecord::kParticipant | SharedRecord::kPending)) == 0;
  const bool one = ((before ^ mine) & SharedRecord::kLane) == 0;
  if (joins) mine |= before & (SharedRecord::kMask | SharedRecord::kSharing);
  *at.writes = joins && !one ? (mine & ~SharedRecord::kSharing) | SharedRecord::mixed : mine;
}

}  // namespace

void SharedShadow::record(const Touch& touch, const ShadowWords& at, std::uint64_t mine) {
  mine |= sharing_of(touch);
  if (touch.copy)
    *at.writes = mine | SharedRecord::kPending;
  else if (touch.writes)
    record_write(at, mine);
  else
    record_read(at, mine, warps_[touch.warp].limit);
}

void SharedShadow::record_span(const Touch& touch, Span span) {
  has_copies_ |= touch.copy;
  span.base |= sharing_of(touch);
  std::uint64_t *writes = span.at.writes, *reads = span.at.reads, *older = span.at.older_reads;
  const std::uint64_t limit = warps_[touch.warp].limit;
  std::uint64_t merges = 0;
  const std::uint64_t* before = touch.writes ? writes : reads;
  for (std::uint64_t k = 0; k < span.count; ++k) {
    const std::uint64_t difference = before[k] ^ span.mine(k);
    merges |= ~not_zero(difference & (SharedRecord::kClock | SharedRecord::kParticipant)) &
              not_zero(difference & (SharedRecord::kLane | SharedRecord::kMask | SharedRecord::kSharing |
                                     SharedRecord::kPending));
  }
  if (touch.copy || top(merges)) {
    for (std::uint64_t k = 0; k < span.count; ++k) record(touch, span.at.from(k), span.mine(k));
  } else if (touch.writes) {
    for (std::uint64_t k = 0; k < span.count; ++k) writes[k] = span.mine(k);
  } else {
    for (std::uint64_t k = 0; k < span.count; ++k) {
      const std::uint64_t mine = span.mine(k), old = reads[k];
      const bool keep = top(not_below(old, limit) &
                            not_zero((old ^ mine) & (SharedRecord::kClock | SharedRecord::kParticipant)));
      older[k] = keep ? old : older[k];
      reads[k] = mine;
    }
  }
}

void SharedShadow::completed(std::uint32_t warp, std::uint32_t offset, std::uint32_t bytes, int lane) {
  has_copies_ = true;
  if (lane < 0 && ++copied_ >= SharedRecord::kMaxClock) restart(0);
  const std::uint64_t base =
      lane < 0 ? SharedRecord::make(kCopyEngine, copied_, 0, false) | SharedRecord::kPending
               : SharedRecord::make(warp, warps_[warp].own, 0, false) | SharedRecord::lane_bits(lane);
  for (std::uint64_t at = offset; at < std::uint64_t{offset} + bytes; at = at / 4 * 4 + 4) {
    std::uint64_t& record = writes_[at / 4];
    record = base | shared_mask(at, offset + bytes - at) | (record & SharedRecord::kOp);
  }
}

// ---- what orders what

void SharedShadow::restart(std::uint32_t clock) {
  std::fill(writes_.begin(), writes_.end(), 0);
  std::fill(reads_.begin(), reads_.end(), 0);
  std::fill(older_reads_.begin(), older_reads_.end(), 0);
  global_.clear();
  has_copies_ = false;
  reset_clocks(clock);
}

void SharedShadow::reset_clocks(std::uint32_t clock) {
  copied_ = clock;
  proxy_fences_.reset(clock, warps_.size());
  published_ = {};
  published_.at.fill(clock);
  objects_.clear();
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    WarpClock& warp = warps_[i];
    warp = {};
    warp.own = clock + 1;
    warp.seen.at.fill(~0u);
    for (std::size_t participant = 0; participant < warps_.size(); ++participant)
      warp.seen.at[participant] = clock;
    warp.seen.at[kCopyEngine] = clock;
    warp.limit = (std::uint64_t{clock} + 1) << SharedRecord::kClockShift;
  }
}

void SharedShadow::start(std::uint32_t warps, std::uint32_t shared_bytes) {
  std::uint32_t latest = copied_;
  for (const WarpClock& warp : warps_) latest = std::max(latest, warp.own);
  warps_.resize(warps);
  const std::size_t words = (std::size_t{shared_bytes} + 3) / 4;
  writes_.resize(words);
  reads_.resize(words);
  older_reads_.resize(words);
  global_.begin();
  if (latest > kLatestStart) return restart(0);
  // A copy that no one waited for would look pending to the next block.
  if (has_copies_) std::fill(writes_.begin(), writes_.end(), 0);
  has_copies_ = false;
  reset_clocks(latest);
}

VectorClock SharedShadow::all_of(std::uint32_t index) const {
  VectorClock all = warps_[index].seen;
  all.at[index] = warps_[index].own;
  return all;
}

/// What `lanes` of a warp know of others: accesses before the warp last met, and those that they have heard of
/// since.
VectorClock SharedShadow::heard_by(std::uint32_t index, std::uint32_t lanes) const {
  const WarpClock& warp = warps_[index];
  VectorClock heard = warp.seen;
  if (warp.lanes == nullptr) return heard;
  LaneRow row{};
  for (; lanes != 0; lanes &= lanes - 1) join(row, warp.lanes->seen_by(std::countr_zero(lanes)));
  heard.join_row(index, row);
  return heard;
}

/// What `lanes` of a warp alone can pass on: that, and their own accesses.
VectorClock SharedShadow::known_to(std::uint32_t index, std::uint32_t lanes) const {
  VectorClock known = heard_by(index, lanes);
  LaneRow row{};
  for (; lanes != 0; lanes &= lanes - 1)
    row[static_cast<std::size_t>(std::countr_zero(lanes))] = warps_[index].own;
  known.join_row(index, row);
  return known;
}

/// What the last fences of `lanes` cover of their own accesses becomes known to `into`.
void SharedShadow::pass_fences(std::uint32_t index, std::uint32_t lanes, VectorClock& into) {
  WarpClock& warp = warps_[index];
  lanes &= warp.fenced_lanes;
  if (lanes == 0) return;
  warp.fenced_lanes &= ~lanes;
  LaneRow row{};
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
    row[lane] = warp.fenced_at[lane];
  }
  into.join_row(index, row);
}

void SharedShadow::set_own(std::uint32_t index, std::uint32_t own) {
  WarpClock& warp = warps_[index];
  warp.own = own;
  warp.limit = (std::uint64_t{warp.seen.floor()} + 1) << SharedRecord::kClockShift;
  if (own >= SharedRecord::kMaxClock) restart(0);
}

void SharedShadow::see(std::uint32_t index, const VectorClock& what) {
  WarpClock& warp = warps_[index];
  warp.seen.join(what);
  set_own(index, std::max(warp.own, warp.seen.at[index] + 1));
}

// A barrier is a fence as well. Which warps only arrived is not known: they count as having waited.
void SharedShadow::barrier(const std::vector<std::uint32_t>& lanes) {
  VectorClock joined;
  std::uint32_t latest = 0;
  const std::size_t count = std::min(lanes.size(), warps_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (lanes[i] == 0) continue;
    joined.join(all_of(i));
    latest = std::max(latest, warps_[i].own);
  }
  // Participants continue from one number: a whole block's barrier then orders everything below it.
  for (std::uint32_t i = 0; i < count; ++i) {
    if (lanes[i] != 0) joined.at[i] = std::max(joined.at[i], latest);
  }
  joined.drop_known_lanes();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (lanes[i] == 0) continue;
    warps_[i].fenced = warps_[i].seen = joined;
    warps_[i].fenced_lanes = 0;
    set_own(i, latest + 1);
  }
}

void SharedShadow::warp_synced(std::uint32_t warp, std::uint32_t lanes, std::uint32_t live) {
  WarpClock& clock = warps_[warp];
  // Behind the barrier any lane may publish what others have fenced before it.
  pass_fences(warp, lanes, clock.fenced);
  if ((live & ~lanes) == 0) {
    clock.seen.at[warp] = clock.own;
  } else {
    if (clock.lanes == nullptr) clock.lanes = std::make_shared<LaneClocks>();
    clock.lanes->meet(lanes, clock.own);
  }
  set_own(warp, clock.own + 1);
}

void SharedShadow::fenced(std::uint32_t warp, std::uint32_t lanes) {
  WarpClock& clock = warps_[warp];
  clock.fenced.join(heard_by(warp, lanes));
  clock.fenced_lanes |= lanes;
  for (; lanes != 0; lanes &= lanes - 1)
    clock.fenced_at[static_cast<std::size_t>(std::countr_zero(lanes))] = clock.own;
  set_own(warp, clock.own + 1);
}

// Acquires without a fence behind it too: code relies on it, and shared memory is in order on all devices.
void SharedShadow::strong_access(std::uint32_t warp, std::uint32_t lanes) {
  published_.join(warps_[warp].fenced);
  pass_fences(warp, lanes, published_);
  see(warp, published_);
}

void SharedShadow::released(std::uint32_t warp, std::uint32_t object, std::uint32_t lanes,
                            std::uint32_t live) {
  objects_[object].join((live & ~lanes) == 0 ? all_of(warp) : known_to(warp, lanes));
  set_own(warp, warps_[warp].own + 1);
}

void SharedShadow::released_from_outside(std::uint32_t object) { objects_[object].join(published_); }

void SharedShadow::released_to_outside(std::uint32_t warp, std::uint32_t lanes, std::uint32_t live) {
  published_.join((live & ~lanes) == 0 ? all_of(warp) : known_to(warp, lanes));
  set_own(warp, warps_[warp].own + 1);
}

void SharedShadow::publish_all() {
  for (std::uint32_t i = 0; i < warps_.size(); ++i) published_.join(all_of(i));
}

bool SharedShadow::has_published(ThreadRecord record, std::uint64_t mask) const {
  const std::uint32_t participant = record.participant();
  if (participant >= warps_.size() || record.clock() <= published_.at[participant]) return true;
  // Of before clocks started again: who knows of it is forgotten.
  return record.clock() > warps_[participant].own || ordered_by_lane(published_, record, mask);
}

bool SharedShadow::has_published_global(std::uint64_t word, Index op, std::uint64_t mask) const {
  const ConstShadowWords at = global_.find(word);
  if (at.writes == nullptr) return true;
  return std::ranges::all_of(std::array{*at.writes, *at.reads, *at.older_reads}, [&](std::uint64_t record) {
    return ThreadRecord{record}.op() != op || (record & mask & SharedRecord::kMask) == 0 ||
           has_published({record}, mask);
  });
}

void SharedShadow::for_each_unpublished(const std::function<void(std::uint64_t, Index)>& visit) const {
  global_.for_each([&](std::uint64_t word, const ConstShadowWords& at) {
    for (const std::uint64_t record : {*at.writes, *at.reads, *at.older_reads}) {
      // Which bytes others will touch is not known.
      if (!has_published({record}, 0)) visit(word, ThreadRecord{record}.op());
    }
  });
}

void SharedShadow::acquired(std::uint32_t warp, std::uint32_t object) {
  // Which copies an object stands for is not known: all that have ended.
  warps_[warp].seen.at[kCopyEngine] = copied_;
  const auto found = objects_.find(object);
  see(warp, found != objects_.end() ? found->second : VectorClock{});
}

}  // namespace ak::emulator

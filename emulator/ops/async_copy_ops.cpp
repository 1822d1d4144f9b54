// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include "emulator/machine/async_copies.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_access.h"

namespace ak::emulator {
namespace {

// Groups belong to threads, yet Warp::copy_groups is one list for all lanes: where lanes diverge around a
// commit, those that do not commit get a group without copies. That only makes their own groups look older,
// so a wait completes at least what it must.

std::vector<PendingCopy>& open_group(Warp& warp) {
  if (warp.copy_groups.empty()) warp.copy_groups.emplace_back();
  return warp.copy_groups.back();
}

void perform(Warp& warp, const PendingCopy& copy) {
  Block& block = *warp.block;
  std::byte* const to = block.shared + copy.shared_offset;
  if (copy.source_bytes != 0)
    std::memcpy(to, warp.launch->arena.host(copy.global, copy.source_bytes), copy.source_bytes);
  std::memset(to + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
  if (warp.launch->checker != nullptr) {
    warp.launch->checker->async_completed(warp, copy.shared_offset, copy.bytes, static_cast<int>(copy.lane));
  }
}

/// Groups are counted from the newest, so empty old ones can go.
void drop_empty_groups(Warp& warp) {
  while (warp.copy_groups.size() > 1 && warp.copy_groups.front().empty()) warp.copy_groups.pop_front();
}

/// A warp that never waits must not fill the host's memory: a copy may be done as early as it likes.
void limit_pending(Warp& warp) {
  constexpr std::size_t kMaxCopies = 1u << 13, kMaxGroups = 1u << 10;  // far beyond any pipeline (chosen)
  if (warp.copy_groups.back().size() > kMaxCopies) complete_copies(warp, kAllLanes, 0);
  if (warp.copy_groups.size() > kMaxGroups) complete_copies(warp, kAllLanes, kMaxGroups / 2);
}

/// Closes the open group for `lanes`; what other lanes have in it stays open.
void commit(Warp& warp, std::uint32_t lanes) {
  std::vector<PendingCopy>& closing = open_group(warp);
  std::vector<PendingCopy> open;
  if (lanes != warp.live) {
    std::erase_if(closing, [&](const PendingCopy& copy) {
      const bool stays = (lanes >> copy.lane & 1u) == 0;
      if (stays) open.push_back(copy);
      return stays;
    });
  }
  warp.copy_groups.push_back(std::move(open));
  drop_empty_groups(warp);
}

/// Op::aux beyond memory_access.h: the size of the copy, and what says how much of it is read. Op::a is the
/// source's address; slots: base of the destination, its offset, and what says how much is read.
constexpr std::uint32_t kWideDestination = 1u << kFreeAuxBits;
constexpr std::uint32_t kHasSourceBytes = 1u << (kFreeAuxBits + 1);    ///< slot of 32-bit numbers
constexpr std::uint32_t kHasIgnoredSource = 1u << (kFreeAuxBits + 2);  ///< predicate slot: reads nothing
constexpr int kSizeShift = kFreeAuxBits + 3;

struct Copy {
  std::uint32_t bytes = 0;
  std::uint32_t source_bytes[kLanes] = {};
};

Copy copy_of(Warp& warp, const Op& op, const Slot* slots) {
  Copy copy;
  copy.bytes = op.aux >> kSizeShift;
  const std::uint32_t ignored = (op.aux & kHasIgnoredSource) != 0 ? predicate(warp, slots[2]) : 0;
  for (int i = 0; i < kLanes; ++i)
    copy.source_bytes[i] = (op.aux & kHasSourceBytes) != 0 ? source<std::uint32_t>(warp, slots[2])[i]
                           : (ignored >> i & 1u) != 0      ? 0
                                                           : copy.bytes;
  for_each_lane(warp.mask, [&](int lane) {
    if (copy.source_bytes[lane] <= copy.bytes) return;
    warp.launch->fault(warp, op, FaultKind::invalid_operand, lane, "src-size is larger than cp-size");
    if (warp.launch->checker == nullptr) warp.launch->stop = true;
    copy.source_bytes[lane] = copy.bytes;
  });
  return copy;
}

std::uint32_t lanes_reading(const Copy& copy, std::uint32_t mask, std::uint32_t bytes) {
  std::uint32_t lanes = 0;
  for_each_lane(mask,
                [&](int i) { lanes |= static_cast<std::uint32_t>(copy.source_bytes[i] == bytes) << i; });
  return lanes;
}

/// Lanes that read only a part: their bytes are checked one range per lane.
bool part_readable(Warp& warp, const Op& op, std::uint64_t address, int lane, std::uint32_t bytes,
                   std::uint32_t alignment) {
  if (address % alignment != 0) {
    report_fault(warp, op, FaultKind::misaligned, lane, address, bytes);
    return false;
  }
  Checker* const checker = warp.launch->checker;
  if (checker != nullptr &&
      !checker->access_range(warp, op, Space::global, address, lane, bytes, AccessKind::async_read))
    return false;
  if (warp.launch->arena.host(address, bytes) != nullptr) return true;
  report_fault(warp, op, FaultKind::out_of_bounds, lane, address, bytes);
  return false;
}

/// Lanes whose source may be read.
std::uint32_t resolve_sources(Warp& warp, const Op& op, const Copy& copy, Access& access) {
  const std::uint32_t mask = warp.mask;
  const std::uint32_t whole = lanes_reading(copy, mask, copy.bytes), nothing = lanes_reading(copy, mask, 0);
  std::uint32_t readable = nothing;
  std::uint64_t addresses[kLanes];
  compute_addresses(warp, op.a, (op.aux & kWideBase) != 0, op.immediate, addresses);
  for_each_lane(mask & ~whole & ~nothing, [&](int lane) {
    if (part_readable(warp, op, addresses[lane], lane, copy.source_bytes[lane], copy.bytes))
      readable |= 1u << lane;
  });
  if (whole != 0) {
    warp.mask = whole;
    resolve(warp, op, {copy.bytes, AccessKind::async_read, Purpose::load}, access);
    warp.mask = mask;
    readable |= access.mask;
  }
  std::memcpy(access.addresses, addresses, sizeof addresses);
  return readable;
}

void copy_async(Warp& warp, const Op& op) {
  const Slot* const slots = warp.launch->program.slots.data() + op.more;
  const Copy copy = copy_of(warp, op, slots);
  Access from, to;
  const std::uint32_t mask = warp.mask, readable = resolve_sources(warp, op, copy, from);
  if (readable == 0) return;
  warp.mask = readable;
  compute_addresses(warp, slots[0], (op.aux & kWideDestination) != 0, static_cast<std::int32_t>(slots[1]),
                    to.addresses);
  resolve(warp, op, Space::shared, {copy.bytes, AccessKind::async_write, Purpose::store}, to);
  warp.mask = mask;
  std::vector<PendingCopy>& group = open_group(warp);
  const Index index = warp.launch->program.index_of(op);
  for_each_lane(to.mask, [&](int lane) {
    group.push_back({.lane = static_cast<std::uint32_t>(lane),
                     .shared_offset = static_cast<std::uint32_t>(to.at(lane) - warp.block->shared),
                     .global = from.addresses[lane],
                     .bytes = copy.bytes,
                     .source_bytes = copy.source_bytes[lane],
                     .op = index});
  });
  limit_pending(warp);
}

void commit_group(Warp& warp, const Op&) { commit(warp, warp.mask); }
// immediate: groups that may be left, the open one included.
void wait_group(Warp& warp, const Op& op) {
  complete_copies(warp, warp.mask, static_cast<std::size_t>(op.immediate));
}

void require(bool condition, const char* what) {
  if (!condition) Lowering::unsupported(what);
}

std::uint32_t copy_bytes(const Lowering& lowering) {
  const Operand& size = lowering.operand(2);
  require(size.kind == OperandKind::integer, "a size that is not a number");
  const bool fits =
      lowering.has("cg") ? size.bits == 16 : size.bits == 4 || size.bits == 8 || size.bits == 16;
  require(fits, "a copy of this size");
  return static_cast<std::uint32_t>(size.bits);
}

Op lower_async_copy(Lowering& lowering) {
  lowering.accept_modifiers({"async", "ca", "cg", "shared", "shared::cta", "global", "L2::cache_hint",
                             "L2::64B", "L2::128B", "L2::256B"});
  require(lowering.has("ca") != lowering.has("cg") && lowering.has("global"), "a copy of this kind");
  const bool hinted = lowering.has("L2::cache_hint");
  const std::size_t own = lowering.operand_count() - (hinted && lowering.operand_count() > 3 ? 1 : 0);
  require(own == 3 || own == 4, "this number of operands");
  expect_operands(lowering, own);
  Op op;
  op.run = copy_async;
  const Address from = lowering.address(lowering.operand(1)), to = lowering.address(lowering.operand(0));
  op.a = from.base;
  op.immediate = from.offset;
  require(to.offset == static_cast<std::int32_t>(to.offset), "an offset of this size");
  op.aux = static_cast<std::uint32_t>(Space::global) | copy_bytes(lowering) << kSizeShift;
  op.aux |= (from.base_bits == 64 ? kWideBase : 0) | (to.base_bits == 64 ? kWideDestination : 0);
  std::vector<Slot> slots = {to.base, static_cast<Slot>(static_cast<std::int32_t>(to.offset))};
  if (own == 4) {
    const Operand& limit = lowering.operand(3);
    const bool ignores = lowering.register_bits(limit, Type::u32) == 1;
    slots.push_back(ignores ? lowering.predicate(limit) : lowering.source(limit, Type::u32));
    op.aux |= ignores ? kHasIgnoredSource : kHasSourceBytes;
  }
  lowering.more(op, slots);
  return op;
}

Op lower_wait(Lowering& lowering) {
  lowering.accept_modifiers({"async", "wait_group", "wait_all"});
  Op op;
  op.run = wait_group;
  op.immediate = 0;
  if (lowering.has("wait_group")) {
    const Operand& left = lowering.operand(0);
    constexpr std::uint64_t kMax = 1u << 20;  // more groups than a thread could have
    require(left.kind == OperandKind::integer && left.bits < kMax, "a number of groups like this");
    op.immediate = static_cast<std::int64_t>(left.bits) + 1;
  }
  return op;
}

std::optional<Op> lower_cp(Lowering& lowering) {
  // Copies of another kind are bulk_copy_ops.cpp's, arrivals mbarrier_ops.cpp's.
  if (lowering.has("bulk") || lowering.has("mbarrier") || lowering.has("reduce")) return std::nullopt;
  Op op;
  if (lowering.has("commit_group")) {
    lowering.accept_modifiers({"async", "commit_group"});
    op.run = commit_group;
  } else if (lowering.has("wait_group") || lowering.has("wait_all")) {
    op = lower_wait(lowering);
  } else {
    op = lower_async_copy(lowering);
  }
  lowering.classify(InstructionClass::async_copy);
  return op;
}

}  // namespace

void complete_copies(Warp& warp, std::uint32_t lanes, std::size_t groups_left) {
  const std::size_t count = warp.copy_groups.size();
  for (std::size_t i = 0; i + groups_left < count; ++i) {
    std::erase_if(warp.copy_groups[i], [&](const PendingCopy& copy) {
      if ((lanes >> copy.lane & 1u) == 0) return false;
      perform(warp, copy);
      return true;
    });
  }
  drop_empty_groups(warp);
}

void add_async_work(Warp& warp, AsyncWork work) {
  constexpr std::size_t kMaxWaiting = 4096;  // far beyond any pipeline (chosen)
  Block& block = *warp.block;
  if (block.async_work.size() >= kMaxWaiting) perform_oldest_work(block, *warp.launch);
  block.async_work.push_back(std::move(work));
}

bool perform_oldest_work(Block& block, Launch& launch) {
  if (block.async_work.empty()) return false;
  const AsyncWork work = std::move(block.async_work.front());
  block.async_work.pop_front();
  work(launch);
  return true;
}

std::span<const Mnemonic> async_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"cp", lower_cp, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator

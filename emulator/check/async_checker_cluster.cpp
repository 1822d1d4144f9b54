// SPDX-License-Identifier: Apache-2.0
// Shared memory of other blocks in a cluster: who may touch it when.
#include "emulator/check/async_checker.h"
#include "emulator/check/checker_state.h"

namespace ak::emulator {
namespace {

/// Calls visit(word, bits of its bytes) for the words of [offset, offset + bytes).
template <class Visit>
void for_each_word(std::uint32_t offset, std::uint32_t bytes, Visit visit) {
  for (std::uint32_t at = offset; at < offset + bytes; at = at / 4 * 4 + 4) {
    const std::uint32_t count = std::min(offset + bytes - at, 4 - at % 4);
    visit(at / 4, static_cast<std::uint8_t>(((1u << count) - 1) << at % 4));
  }
}

Finding finding_of(const CheckedAccess& request, FaultKind kind, int lane) {
  Finding finding;
  finding.kind = kind;
  finding.first = {.block = request.warp.block->id,
                   .thread = thread_of(request.warp, lane),
                   .thread_known = true,
                   .write = request.touch.writes,
                   .op = request.touch.op};
  return finding;
}

Participant participant_of(const ClusterAccess& access, bool writes) {
  return {.block = access.block->id,
          .thread = thread_of(access.block->warps[access.warp], access.lane),
          .thread_known = true,
          .write = writes,
          .op = access.op};
}

}  // namespace

void AsyncChecker::released(const Block& block) {
  if (block.cluster.size() > 1) order_.released(block);
}
void AsyncChecker::acquired(const Block& block) {
  if (block.cluster.size() > 1) order_.acquired(block);
}

void AsyncChecker::met(const Block& block) {
  if (block.cluster.size() > 1) order_.met(block);
}

void AsyncChecker::cluster_joined(const std::vector<Block*>& cluster) {
  if (cluster.size() < 2) return;
  for (const Block* block : cluster) {
    order_.joined(*block);
    Watched& watched = of(*block);
    watched.accesses.clear();
    watched.phase_clock = state_.shadow(*block).clock_of(0);
    for (auto& [offset, init] : watched.mbarriers) init.published = true;
  }
}

/// False: the block may not have begun, or has ended.
bool AsyncChecker::reachable(const CheckedAccess& request, Block& owner, std::uint32_t offset, int lane) {
  const bool ended = owner.live_threads == 0;
  if (!ended && order_.has_met(*request.warp.block)) return true;
  Finding finding = finding_of(request, FaultKind::cluster_lifetime, lane);
  finding.detail = ended ? "all threads of that block have returned"
                         : "nothing shows that that block has begun: a cluster barrier is missing";
  state_.add(request, std::move(finding), offset, 1);
  return false;
}

/// Whether `block` may know of the access.
bool AsyncChecker::known(const ClusterAccess& access, const Block& block) const {
  return order_.ordered(*access.block, access.time, block) &&
         state_.shadow(*access.block).has_published(access.record(), ThreadRecord::kMask);
}

void AsyncChecker::judge_cluster(const CheckedAccess& request, Block& owner, std::uint32_t offset,
                                 std::uint32_t bytes, int lane) {
  const Block& self = *request.warp.block;
  const ClusterAccesses& accesses = of(owner).accesses;
  bool clash = false;
  const auto look = [&](const auto& records, std::uint32_t word, std::uint8_t mask, bool writes) {
    const auto found = clash ? records.end() : records.find(word);
    if (found == records.end()) return;
    const ClusterAccess& other = found->second;
    if (other.block == &self || (other.bytes & mask) == 0 || (other.strong && request.touch.strong)) return;
    if (known(other, self)) return;
    Finding finding = finding_of(request, FaultKind::shared_race, lane);
    finding.other = participant_of(other, writes);
    state_.add(request, std::move(finding), std::uint64_t{word} * 4, 1);
    clash = true;
  };
  for_each_word(offset, bytes, [&](std::uint32_t word, std::uint8_t mask) {
    look(accesses.writes, word, mask, true);
    if (request.touch.writes) look(accesses.reads, word, mask, false);
  });
}

void AsyncChecker::remote_access(const CheckedAccess& request, Block& owner, std::uint32_t offset,
                                 std::uint32_t bytes, int lane) {
  if (!reachable(request, owner, offset, lane)) return;
  access(request, owner, offset, bytes, lane);
  judge_own(request, owner, offset, bytes, lane);
  ClusterAccesses& accesses = of(owner).accesses;
  ClusterAccess access{.block = request.warp.block,
                       .time = order_.now(),
                       .warp = request.warp.index,
                       .clock = state_.shadow(*request.warp.block).clock_of(request.warp.index),
                       .lane = lane,
                       .op = request.touch.op,
                       .bytes = 0,
                       .strong = request.touch.strong};
  for_each_word(offset, bytes, [&](std::uint32_t word, std::uint8_t mask) {
    access.bytes = mask;
    (request.touch.writes ? accesses.writes : accesses.reads)[word] = access;
  });
}

/// What the owner itself did there since the last barrier of the cluster.
void AsyncChecker::judge_own(const CheckedAccess& request, Block& owner, std::uint32_t offset,
                             std::uint32_t bytes, int lane) {
  const bool heard = order_.ordered(owner, order_.phase_began(owner), *request.warp.block);
  const SharedShadow& shadow = state_.shadow(owner);
  bool clash = false;
  for_each_word(offset, bytes, [&](std::uint32_t word, std::uint8_t mask) {
    for (const bool write : {true, false}) {
      const ThreadRecord record = write ? shadow.last_write(word) : shadow.last_read(word);
      if (clash || (!write && !request.touch.writes) || record.participant() >= owner.warps.size()) continue;
      const bool common = (record.bits & ThreadRecord::kMask) >> ThreadRecord::kMaskShift & mask;
      if (!common || record.pending() || record.clock() < of(owner).phase_clock) continue;
      if (record.strong() && request.touch.strong) continue;
      if (heard && shadow.has_published(record, std::uint64_t{mask} << ThreadRecord::kMaskShift)) continue;
      Finding finding = finding_of(request, FaultKind::shared_race, lane);
      finding.other = Participant{.block = owner.id,
                                  .thread = thread_of(owner.warps[record.participant()], record.lane()),
                                  .thread_known = true,
                                  .write = write,
                                  .op = record.op()};
      state_.add(request, std::move(finding), std::uint64_t{word} * 4, 1);
      clash = true;
    }
  });
}

void AsyncChecker::copy_arrived(const Block& owner, std::uint32_t offset, std::uint32_t bytes) {
  state_.shadow(owner).forget_writes(offset, bytes);
}

void AsyncChecker::block_ended(Block& block) {
  Watched* const watched = find(block);
  if (watched == nullptr) return;
  for (const bool writes : {true, false}) {
    for (const auto& [word, access] : writes ? watched->accesses.writes : watched->accesses.reads) {
      if (known(access, block)) continue;
      Warp& warp = access.block->warps[access.warp];
      Touch touch{.warp = warp.index, .op = access.op, .bytes = 4};
      touch.writes = writes;
      touch.reads = !writes;
      const CheckedAccess request{
          .warp = warp, .op = warp.code[access.op], .space = Space::shared_cluster, .touch = touch};
      Finding finding = finding_of(request, FaultKind::cluster_lifetime, access.lane);
      finding.detail = "that block may return before: a cluster barrier is missing behind this access";
      state_.add(request, std::move(finding), std::uint64_t{word} * 4, 1);
      return;
    }
  }
}

}  // namespace ak::emulator

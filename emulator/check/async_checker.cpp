// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations and proxies.
#include "emulator/check/async_checker.h"

#include "emulator/check/checker_state.h"

namespace ak::emulator {
namespace {

CheckedAccess request_of(Warp& warp, const Op& op, bool writes, std::uint32_t bytes) {
  Touch touch{.warp = warp.index, .op = warp.launch->program.index_of(op), .bytes = bytes};
  touch.reads = !writes;
  touch.writes = writes;
  return {.warp = warp, .op = op, .space = Space::shared, .touch = touch, .range_bytes = bytes};
}

}  // namespace

AsyncChecker::Watched& AsyncChecker::of(const Block& block) {
  if (Watched* const known = find(block)) return *known;
  auto made = std::make_unique<Watched>();
  made->reads.start(block.shared_bytes);
  last_watched_ = made.get();
  watched_[&block] = std::move(made);
  return *last_watched_;
}

AsyncChecker::Watched* AsyncChecker::find(const Block& block) const {
  if (&block == last_block_) return last_watched_;
  const auto found = watched_.find(&block);
  last_block_ = &block;
  last_watched_ = found == watched_.end() ? nullptr : found->second.get();
  return last_watched_;
}

void AsyncChecker::block_started(Block& block) {
  watched_.erase(&block);
  last_block_ = nullptr;
  if (block.cluster.size() < 2) return;
  order_.started(block);
  of(block).phase_clock = state_.shadow(block).clock_of(0);
}

bool AsyncChecker::watches(const Block& owner, bool writes) const {
  const Watched* const watched = find(owner);
  return watched != nullptr && ((writes && watched->reads.any()) || watched->accesses.any());
}

// ---- reads that happen later

void AsyncChecker::begin_read(Warp& warp, const Op& op, int lane, std::span<const Chunk> chunks) {
  const std::uint32_t clock = state_.shadow(*warp.block).clock_of(warp.index);
  of(*warp.block).reads.begin({warp.index, lane}, warp.launch->program.index_of(op), clock, chunks);
}

void AsyncChecker::commit(Warp& warp, int lane) { of(*warp.block).reads.commit({warp.index, lane}); }

// The reads may have happened as late as now: whoever overwrites their memory must come after the wait.
void AsyncChecker::wait(Warp& warp, int lane, std::size_t groups_left) {
  Watched* const watched = find(*warp.block);
  if (watched == nullptr) return;
  SharedShadow& shadow = state_.shadow(*warp.block);
  for (const AsyncRead& read : watched->reads.wait({warp.index, lane}, groups_left)) {
    if (read.clock == shadow.clock_of(warp.index)) continue;  // nothing was ordered after their beginning
    shadow.read_asynchronously(warp.index, lane, read.op, read.chunks);
  }
}

void AsyncChecker::copy_writes(Warp& warp, const Op& op, int lane, const Block& owner, std::uint32_t offset,
                               std::uint32_t bytes) {
  const Watched* const watched = find(owner);
  if (watched == nullptr || !watched->reads.any()) return;
  const AsyncReads::Found found = watched->reads.overlapping(offset, bytes);
  if (found.op != kNone) report_overwritten(request_of(warp, op, true, bytes), owner, found, lane);
}

void AsyncChecker::report_overwritten(const CheckedAccess& request, const Block& owner,
                                      const AsyncReads::Found& found, int lane) {
  Finding finding;
  finding.kind = FaultKind::async_pending;
  finding.first = {.block = request.warp.block->id,
                   .thread = thread_of(request.warp, lane),
                   .thread_known = true,
                   .write = true,
                   .op = request.touch.op};
  finding.other =
      Participant{.block = owner.id,
                  .thread = thread_of(owner.warps[found.reader.warp], std::max(found.reader.lane, 0)),
                  .thread_known = true,
                  .write = false,
                  .op = found.op};
  state_.add(request, std::move(finding), found.at, 1);
}

void AsyncChecker::access(const CheckedAccess& request, Block& owner, std::uint32_t offset,
                          std::uint32_t bytes, int lane) {
  const Watched* const watched = find(owner);
  if (watched == nullptr) return;
  // Copies say themselves what they write, in each block that receives them.
  if (request.touch.writes && !request.touch.copy && watched->reads.any()) {
    const AsyncReads::Found found = watched->reads.overlapping(offset, bytes);
    if (found.op != kNone) report_overwritten(request, owner, found, lane);
  }
  if (watched->accesses.any()) judge_cluster(request, owner, offset, bytes, lane);
}

void AsyncChecker::access_lanes(const CheckedAccess& request, const std::uint64_t* offsets,
                                std::uint32_t mask) {
  for (; mask != 0; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    access(request, *request.warp.block, static_cast<std::uint32_t>(offsets[lane]), request.touch.bytes,
           lane);
  }
}

// ---- proxies

void AsyncChecker::proxy_fenced(Warp& warp, bool mbarriers_only) {
  SharedShadow& shadow = state_.shadow(*warp.block);
  if (Watched* const watched = find(*warp.block)) {
    for (auto& [offset, init] : watched->mbarriers) {
      const bool own = init.warp == warp.index && (warp.mask >> init.lane & 1u) != 0;
      const bool known = init.warp != warp.index && shadow.ordered(warp.index, init.warp, init.clock);
      init.published = init.published || own || (known && !mbarriers_only);
    }
  }
  if (!mbarriers_only) shadow.proxy_fenced(warp.index, warp.mask, warp.mask == warp.live);
}

// ---- mbarriers

void AsyncChecker::mbarrier_initialised(Warp& warp, const Op& op, int lane, const SharedPlace& place) {
  of(*place.block).mbarriers[place.offset] = {.warp = warp.index,
                                              .clock = state_.shadow(*warp.block).clock_of(warp.index),
                                              .lane = lane,
                                              .op = warp.launch->program.index_of(op),
                                              .cluster_phase = order_.phase(*place.block),
                                              .published = false};
}

void AsyncChecker::mbarrier_used(Warp& warp, const Op& op, int lane, const SharedPlace& place, bool by_copy) {
  Watched* const watched = find(*place.block);
  if (watched == nullptr) return;
  const auto found = watched->mbarriers.find(place.offset);
  if (found == watched->mbarriers.end()) return;
  const MbarrierInit& init = found->second;
  const bool own = place.block == warp.block;
  const bool known = own ? state_.shadow(*warp.block).ordered(warp.index, init.warp, init.clock)
                         : order_.phase(*place.block) > init.cluster_phase ||
                               order_.ordered(*place.block, order_.phase_began(*place.block), *warp.block);
  if (!known)
    report_mbarrier(warp, op, lane, place, init, FaultKind::shared_race);
  else if (by_copy && !init.published)
    report_mbarrier(warp, op, lane, place, init, FaultKind::missing_proxy_fence);
}

void AsyncChecker::report_mbarrier(Warp& warp, const Op& op, int lane, const SharedPlace& place,
                                   const MbarrierInit& init, FaultKind kind) {
  Finding finding;
  finding.kind = kind;
  finding.first = {.block = warp.block->id,
                   .thread = thread_of(warp, lane),
                   .thread_known = true,
                   .write = false,
                   .op = warp.launch->program.index_of(op)};
  finding.other = Participant{.block = place.block->id,
                              .thread = thread_of(place.block->warps[init.warp], init.lane),
                              .thread_known = true,
                              .write = true,
                              .op = init.op};
  finding.detail = "the mbarrier's initialisation there may not have happened yet";
  constexpr std::uint32_t kMbarrierBytes = 8;
  state_.add(request_of(warp, op, false, kMbarrierBytes), std::move(finding), place.offset, 1);
}

// A barrier of the block counts as publication: libraries for all devices have nothing else.
void AsyncChecker::barrier_joined(const Block& block, const std::vector<std::uint32_t>& lanes) {
  Watched* const watched = find(block);
  if (watched == nullptr) return;
  for (auto& [offset, init] : watched->mbarriers)
    init.published = init.published || (init.warp < lanes.size() && lanes[init.warp] != 0);
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
// bar, barrier, barrier.cluster: where the warps of a block, and the blocks of a cluster, meet.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/barriers.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

enum class Role : std::uint32_t { sync, arrive, reduce_popc, reduce_and, reduce_or };
enum : std::uint32_t { kRoleMask = 0xF, kAligned = 0x10, kHasCount = 0x20 };

Role role_of(const Op& op) { return static_cast<Role>(op.aux & kRoleMask); }

Checker* checker_of(const Block& block) { return block.warps.front().launch->checker; }

std::uint32_t population(std::uint32_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

void write_reduction(Warp& warp, const Op& op, const NamedBarrier& barrier) {
  alignas(64) std::uint32_t counts[kLanes];
  switch (role_of(op)) {
    case Role::reduce_popc:
      std::fill(std::begin(counts), std::end(counts), barrier.reduction_count);
      write_lanes(warp, destination<std::uint32_t>(warp, op.d), counts);
      break;
    case Role::reduce_and:
      set_predicate(warp, op.d, barrier.reduction_and != 0 ? kAllLanes : 0);
      break;
    case Role::reduce_or:
      set_predicate(warp, op.d, barrier.reduction_or != 0 ? kAllLanes : 0);
      break;
    default:
      break;
  }
}

void open_barrier(Block& block, std::uint32_t id) {
  NamedBarrier& barrier = block.barriers[id];
  for (Warp& warp : block.warps) {
    for (Fragment& fragment : warp.fragments) {
      if (fragment.state != FragmentState::at_barrier || fragment.barrier != id) continue;
      fragment.state = FragmentState::ready;
      const std::uint32_t mask = warp.mask;
      warp.mask = fragment.lanes;
      write_reduction(warp, warp.code[fragment.pc - 1], barrier);
      warp.mask = mask;
    }
  }
  if (Checker* checker = checker_of(block)) checker->barrier_joined(block, barrier.arrived_lanes);
  const std::uint64_t phase = barrier.phase + 1;
  barrier = {};
  barrier.phase = phase;
}

bool complete(const Block& block, const NamedBarrier& barrier) {
  return barrier.arrived != 0 &&
         barrier.arrived >= (barrier.expected != 0 ? barrier.expected : block.live_threads);
}

// All threads of a warp must execute an aligned barrier together, and all warps the same one when no count
// says who takes part (CUDA C++ Programming Guide, "Synchronization Functions").
void check_convergence(Warp& warp, const Op& op, const NamedBarrier& barrier) {
  if (warp.launch->checker == nullptr || (op.aux & kAligned) == 0) return;
  const int lane = std::countr_zero(warp.mask);
  if (warp.mask != warp.live && !warp.apart) {
    warp.launch->fault(
        warp, op, FaultKind::barrier_divergence, lane,
        fmt::format("only {} of the warp's {} threads are here: the others took another branch",
                    population(warp.mask), population(warp.live)));
  } else if ((op.aux & kHasCount) == 0 && warp.block->live_threads < warp.block->threads) {
    warp.launch->fault(warp, op, FaultKind::barrier_divergence, lane,
                       fmt::format("{} of the block's {} threads have already returned",
                                   warp.block->threads - warp.block->live_threads, warp.block->threads));
  } else if ((op.aux & kHasCount) == 0 && barrier.first_op != kNone) {
    const Program& program = warp.launch->program;
    const Place here = place_of(program, program.index_of(op)), there = place_of(program, barrier.first_op);
    if (here.line != there.line || here.file != there.file)
      warp.launch->fault(warp, op, FaultKind::barrier_divergence, lane,
                         fmt::format("other warps of the block wait at the barrier in line {}", there.line));
  }
}

void reduce(NamedBarrier& barrier, std::uint32_t truth, std::uint32_t lanes) {
  barrier.reduction_count += population(truth & lanes);
  barrier.reduction_and &= (truth & lanes) == lanes ? 1u : 0u;
  barrier.reduction_or |= (truth & lanes) != 0 ? 1u : 0u;
}

/// A count of threads means whole warps: the last lanes of one that has fewer count for those it lacks.
std::uint32_t arrivals(const Warp& warp, const NamedBarrier& barrier) {
  const bool whole = barrier.expected != 0 && (warp.live & ~barrier.arrived_lanes[warp.index]) == 0;
  return population(warp.mask) + (whole ? kLanes - population(warp.live) : 0);
}

bool invalid(Warp& warp, const Op& op, const std::string& what) {
  warp.launch->fault(warp, op, FaultKind::invalid_operand, std::countr_zero(warp.mask), what);
  warp.launch->stop = true;
  return false;
}

bool valid_operands(Warp& warp, const Op& op, std::uint32_t id, std::uint32_t count) {
  if (id >= warp.block->barriers.size()) return invalid(warp, op, fmt::format("barrier {} of 16", id));
  if ((op.aux & kHasCount) != 0 && (count == 0 || count % kLanes != 0))
    return invalid(warp, op, fmt::format("a thread count of {}, which is not a multiple of 32", count));
  return true;
}

/// A guarded barrier takes some lanes of the fragment only: they wait apart.
bool waits_apart(Warp& warp, const Op& op) {
  if (warp.mask == warp.lanes) return false;
  diverge(warp, static_cast<Index>(&op - warp.code), kNone);
  return true;
}

void barrier(Warp& warp, const Op& op) {
  if (role_of(op) != Role::arrive && waits_apart(warp, op)) return;
  Block& block = *warp.block;
  const int first = std::countr_zero(warp.mask);
  const std::uint32_t id = source<std::uint32_t>(warp, op.a)[first];
  const std::uint32_t count = (op.aux & kHasCount) != 0 ? source<std::uint32_t>(warp, op.b)[first] : 0;
  if (!valid_operands(warp, op, id, count)) return;
  NamedBarrier& named = block.barriers[id];
  check_convergence(warp, op, named);
  if (named.first_op == kNone) named.first_op = static_cast<Index>(&op - warp.code);
  named.arrived_lanes.resize(block.warps.size());
  named.arrived_lanes[warp.index] |= warp.mask;
  if (count != 0) named.expected = count;
  named.arrived += arrivals(warp, named);
  if (role_of(op) >= Role::reduce_popc) reduce(named, predicate(warp, op.c), warp.mask);
  if (role_of(op) != Role::arrive) block_at_barrier(warp, id);
  if (complete(block, named)) open_barrier(block, id);
}

Role role_named(const Lowering& lowering) {
  if (lowering.has("arrive")) return Role::arrive;
  if (!lowering.has("red")) return Role::sync;
  if (lowering.has("popc")) return Role::reduce_popc;
  if (lowering.has("and")) return Role::reduce_and;
  if (lowering.has("or")) return Role::reduce_or;
  Lowering::unsupported("this reduction");
}

// bar.warp.sync: a barrier of the lanes in a mask. Lanes of several masks may meet here at once, each with
// its own.
void warp_sync(Warp& warp, const Op& op) {
  const std::uint32_t* masks = source<std::uint32_t>(warp, op.a);
  if (!await_members(warp, op, masks)) return;
  if (warp.launch->checker == nullptr) return;
  for (std::uint32_t rest = warp.mask; rest != 0;) {
    const std::uint32_t group = masks[std::countr_zero(rest)] & rest;
    warp.launch->checker->warp_synced(warp, group);
    rest &= ~group;
  }
}

// ---- barrier.cluster: arrive counts threads, wait blocks until all have arrived

void open_cluster_barrier(Block& block) {
  for (Block* member : block.cluster) {
    for (Warp& warp : member->warps) {
      warp.cluster_arrived = 0;
      for (Fragment& fragment : warp.fragments) {
        if (fragment.state == FragmentState::at_barrier && fragment.barrier == kClusterBarrier)
          fragment.state = FragmentState::ready;
      }
    }
  }
  if (Checker* checker = checker_of(block)) checker->cluster_joined(block.cluster);
}

/// All threads of the cluster that have not exited have arrived, and there are such.
bool cluster_complete(Block& block) {
  bool any = false;
  for (const Block* member : block.cluster) {
    for (const Warp& warp : member->warps) {
      if ((warp.live & ~warp.cluster_arrived) != 0) return false;
      any = any || warp.live != 0;
    }
  }
  return any;
}

void cluster_arrive(Warp& warp, const Op&) {
  warp.cluster_arrived |= warp.mask;
  if (cluster_complete(*warp.block)) open_cluster_barrier(*warp.block);
}

void cluster_wait(Warp& warp, const Op& op) {
  if (waits_apart(warp, op)) return;
  if ((warp.cluster_arrived & warp.mask) != 0) block_at_barrier(warp, kClusterBarrier);
}

std::optional<Op> lower_cluster(Lowering& lowering) {
  lowering.accept_modifiers({"cluster", "arrive", "wait", "release", "acquire", "relaxed", "aligned"});
  lowering.classify(InstructionClass::barrier);
  if (lowering.has("arrive")) return Op{.run = cluster_arrive};
  if (lowering.has("wait")) return Op{.run = cluster_wait};
  Lowering::unsupported("this form of barrier.cluster");
}

std::optional<Op> lower_barrier(Lowering& lowering) {
  if (lowering.has("cluster")) return lower_cluster(lowering);
  lowering.classify(InstructionClass::barrier);
  if (lowering.has("warp")) {
    lowering.accept_modifiers({"warp", "sync"});
    return Op{.run = warp_sync, .a = lowering.source(lowering.operand(0), Type::b32)};
  }
  lowering.accept_modifiers({"cta", "sync", "arrive", "red", "popc", "and", "or", "aligned"});
  const Role role = role_named(lowering);
  const bool reduces = role >= Role::reduce_popc;
  // `bar` is `barrier.aligned` (PTX ISA 9.0, "bar").
  const bool aligned = lowering.instruction().opcode == "bar" || lowering.has("aligned");
  const std::size_t first = reduces ? 1 : 0, last = lowering.operand_count() - (reduces ? 1 : 0);
  Op op{.run = barrier,
        .a = lowering.source(lowering.operand(first), Type::u32),
        .aux = static_cast<std::uint32_t>(role) | (aligned ? kAligned : 0u)};
  if (last > first + 1) {
    op.b = lowering.source(lowering.operand(first + 1), Type::u32);
    op.aux |= kHasCount;
  }
  if (reduces) {
    op.c = lowering.predicate(lowering.operand(lowering.operand_count() - 1));
    op.d = role == Role::reduce_popc ? lowering.destination(lowering.operand(0), Type::b32)
                                     : lowering.predicate_destination(lowering.operand(0));
  }
  return op;
}

}  // namespace

bool recheck_barriers(Block& block) {
  bool opened = false;
  for (std::uint32_t id = 0; id < block.barriers.size(); ++id) {
    if (!complete(block, block.barriers[id])) continue;
    open_barrier(block, id);
    opened = true;
  }
  if (cluster_complete(block)) {
    open_cluster_barrier(block);
    opened = true;
  }
  return opened;
}

std::string describe_waiting(const Block& block) {
  std::string text;
  for (std::size_t id = 0; id < block.barriers.size(); ++id) {
    const NamedBarrier& barrier = block.barriers[id];
    if (barrier.arrived == 0) continue;
    text += fmt::format("{}barrier {} has {} of {} threads", text.empty() ? "" : "; ", id, barrier.arrived,
                        barrier.expected != 0 ? barrier.expected : block.live_threads);
  }
  for (const Block* member : block.cluster) {
    std::uint32_t arrived = 0;
    for (const Warp& warp : member->warps) arrived += population(warp.cluster_arrived);
    if (arrived != 0)
      text += fmt::format("{}{} of {} threads of the cluster's block {} are at its barrier",
                          text.empty() ? "" : "; ", arrived, member->live_threads, member->cluster_rank);
  }
  return text.empty() ? "threads wait for lanes of their warp that never come" : text;
}

std::span<const Mnemonic> barrier_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"bar", lower_barrier, 1, true},
                                            {"barrier", lower_barrier, 1, true}};
  return kMnemonics;
}

}  // namespace ak::emulator

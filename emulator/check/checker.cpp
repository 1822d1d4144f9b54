// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/checker.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "emulator/check/checker_state.h"
#include "emulator/machine/address_window.h"
#include "emulator/machine/memory_access.h"

namespace ak::emulator {
namespace {

bool is_load(InstructionClass kind) {
  return kind == InstructionClass::global_load || kind == InstructionClass::shared_load ||
         kind == InstructionClass::local_load || kind == InstructionClass::generic_load ||
         kind == InstructionClass::constant_load;
}

bool is_store(InstructionClass kind) {
  return kind == InstructionClass::global_store || kind == InstructionClass::shared_store ||
         kind == InstructionClass::local_store || kind == InstructionClass::generic_store;
}

Touch touch_of(const Warp& warp, const Op& op, std::uint64_t bytes, AccessKind kind) {
  const Program& program = warp.launch->program;
  Touch touch{.warp = warp.index,
              .op = program.index_of(op),
              .bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, ~0u)),
              .lanes = warp.mask};
  touch.copy = kind == AccessKind::async_write;
  touch.strong = kind == AccessKind::atomic;
  touch.async = kind == AccessKind::async_read;
  touch.non_coherent = kind == AccessKind::non_coherent_read;
  touch.reads = kind == AccessKind::read || touch.async || touch.non_coherent;
  touch.writes = kind == AccessKind::write || touch.copy;
  if (touch.strong) {
    // Volatile and relaxed accesses do one half of what atomics do.
    const auto facts =
        touch.op < program.facts.size() ? program.facts[touch.op].kind : InstructionClass::atomic;
    touch.reads = !is_store(facts);
    touch.writes = !is_load(facts);
    touch.is_volatile = (is_load(facts) || is_store(facts)) && (op.aux & kVolatile) != 0;
  }
  return touch;
}

constexpr std::string_view kLaunchDependents = "griddepcontrol.launch_dependents";

std::uint32_t linear_of(const Block& block) { return static_cast<std::uint32_t>(block.linear); }

}  // namespace

Checker::State::State(Launch& of) : launch(of) {
  const std::uint64_t blocks = std::uint64_t{of.grid[0]} * of.grid[1] * of.grid[2];
  const auto& facts = of.program.facts;
  const bool non_coherent = std::any_of(facts.begin(), facts.end(), [](const OpFacts& fact) {
    return fact.spelling.find(".nc.") != std::string::npos;
  });
  if (std::ranges::any_of(facts, [](const OpFacts& fact) { return fact.spelling == kLaunchDependents; }))
    footprint = std::make_shared<LaunchFootprint>();
  follows_global = (blocks > 1 || non_coherent) && blocks < std::numeric_limits<std::int32_t>::max();
}

SharedShadow& Checker::State::shadow(const Block& block) {
  if (&block == last_block) return *last_shadow;
  auto& found = shadows[&block];
  if (found == nullptr) {
    found = std::make_unique<SharedShadow>();
    found->start(static_cast<std::uint32_t>(block.warps.size()), block.shared_bytes);
  }
  last_block = &block;
  last_shadow = found.get();
  return *found;
}

void Checker::State::strong_access(const CheckedAccess& request, std::uint32_t lanes) {
  const Block& block = *request.warp.block;
  shadow(block).strong_access(request.warp.index, lanes);
  async.released(block);
  async.acquired(block);
  if (follows_global && request.space == Space::global) global_shadow.acquired(linear_of(block));
}

Checker::Checker(Launch& launch) : state_(std::make_unique<State>(launch)) {}
Checker::~Checker() = default;

std::shared_ptr<const LaunchFootprint> Checker::footprint() const { return state_->footprint; }

AsyncChecker& Checker::async() { return state_->async; }

std::uint32_t Checker::access(Warp& warp, const Op& op, Space space, const std::uint64_t* addresses,
                              std::uint32_t mask, std::uint32_t bytes, AccessKind kind) {
  mask &= warp.mask;
  if (mask == 0) return 0;
  CheckedAccess request{.warp = warp, .op = op, .space = space, .touch = touch_of(warp, op, bytes, kind)};
  request.touch.collective = request.touch.async && space == Space::shared;
  if (request.touch.strong) state_->strong_access(request, mask);
  switch (space) {
    case Space::shared:
      return state_->shared(request, addresses, mask);
    case Space::shared_cluster:
      return state_->cluster(request, addresses, mask);
    case Space::local:
      return state_->local(request, addresses, mask);
    case Space::param:
      return state_->parameters(request, addresses, mask);
    default:
      return state_->global(request, addresses, mask);
  }
}

bool Checker::access_run(Warp& warp, const Op& op, Space space, const Run& run, AccessKind kind) {
  if (kind == AccessKind::atomic || kind == AccessKind::async_write) return false;
  CheckedAccess request{
      .warp = warp, .op = op, .space = space, .touch = touch_of(warp, op, run.lane_bytes, kind)};
  request.touch.collective = request.touch.async && space == Space::shared;
  if (space == Space::local) return state_->local_run(request, run);
  if (run.lane_bytes < 4) return false;  // races are looked for in whole words
  if (space == Space::shared || space == Space::shared_cluster) return state_->shared_run(request, run);
  return state_->global_run(request, run);
}

bool Checker::access_range(Warp& warp, const Op& op, Space space, std::uint64_t address, int lane,
                           std::uint64_t bytes, AccessKind kind) {
  if (bytes == 0) return true;
  if (space == Space::none) {
    space = space_of_window(address);
    if (space != Space::global) address &= ~kWindowMask;
  }
  CheckedAccess request{
      .warp = warp, .op = op, .space = space, .touch = touch_of(warp, op, bytes, kind), .range_bytes = bytes};
  if (request.touch.strong) state_->strong_access(request, 1u << lane);
  if (space == Space::shared || space == Space::shared_cluster)
    return state_->shared_range(request, address, lane);
  if (space == Space::global || space == Space::constant) return state_->global_range(request, address, lane);
  // Per-thread spaces have no ranges that are worth a path of their own: byte by byte.
  request.touch.bytes = 1;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    std::uint64_t addresses[kLanes] = {};
    addresses[lane] = address + i;
    const std::uint32_t bit = 1u << lane;
    if ((space == Space::local ? state_->local(request, addresses, bit)
                               : state_->parameters(request, addresses, bit)) == 0)
      return false;
  }
  return true;
}

void Checker::block_started(Block& block) {
  state_->shadow(block).start(static_cast<std::uint32_t>(block.warps.size()), block.shared_bytes);
  state_->async.block_started(block);
  if (state_->follows_global) state_->running[linear_of(block)] = &block;
}

// Its shadow stays for the next block that is kept in the same place: what others must know is taken from it.
void Checker::block_finished(Block& block) {
  const std::uint32_t number = linear_of(block);
  state_->running.erase(number);
  if (!state_->global_shadow.has_released(number)) return;
  state_->shadow(block).for_each_unpublished(
      [&](std::uint64_t word, Index op) { state_->global_shadow.never_published(number, word, op); });
}

void Checker::barrier_joined(Block& block, const std::vector<std::uint32_t>& lanes) {
  state_->shadow(block).barrier(lanes);
  state_->async.barrier_joined(block, lanes);
}

void Checker::warp_synced(Warp& warp, std::uint32_t lanes) {
  state_->shadow(*warp.block).warp_synced(warp.index, lanes, warp.live);
}

void Checker::fenced(Warp& warp, bool grid) {
  state_->shadow(*warp.block).fenced(warp.index, warp.mask);
  state_->async.released(*warp.block);
  state_->async.acquired(*warp.block);
  if (grid) state_->async.met(*warp.block);
  if (!grid || !state_->follows_global) return;
  state_->global_shadow.released(linear_of(*warp.block));
  state_->global_shadow.acquired(linear_of(*warp.block));
}

void Checker::released(Warp& warp, const Block& owner, std::uint32_t offset, std::uint32_t lanes) {
  state_->async.released(*warp.block);
  if (&owner == warp.block) {
    state_->shadow(owner).released(warp.index, offset, lanes, warp.live);
    return;
  }
  state_->async.signalled(owner);
  state_->shadow(*warp.block).released_to_outside(warp.index, lanes, warp.live);
  state_->shadow(owner).released_from_outside(offset);
  state_->global_shadow.released(linear_of(*warp.block));
}

void Checker::acquired(Warp& warp, const Block& owner, std::uint32_t offset) {
  state_->async.acquired(*warp.block);
  if (&owner == warp.block) state_->shadow(owner).acquired(warp.index, offset);
  if (warp.block->cluster.size() > 1) state_->global_shadow.acquired(linear_of(*warp.block));
}

void Checker::cluster_joined(const std::vector<Block*>& cluster) {
  for (Block* block : cluster) {
    state_->shadow(*block).publish_all();
    state_->shadow(*block).barrier(std::vector<std::uint32_t>(block->warps.size(), kAllLanes));
    state_->global_shadow.released(linear_of(*block));
  }
  for (Block* block : cluster) state_->global_shadow.acquired(linear_of(*block));
  state_->async.cluster_joined(cluster);
}

void Checker::async_completed(Warp& warp, std::uint32_t offset, std::uint32_t bytes, int lane) {
  Block& block = *warp.block;
  if (offset > block.shared_bytes || bytes > block.shared_bytes - offset) return;
  state_->shadow(block).completed(warp.index, offset, bytes, lane);
  if (!block.shared_written.empty())
    std::fill_n(block.shared_written.begin() + offset, bytes, std::uint8_t{1});
}

}  // namespace ak::emulator

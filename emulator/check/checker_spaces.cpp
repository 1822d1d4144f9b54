// SPDX-License-Identifier: Apache-2.0
// What is checked of an access, state space by state space.
#include <bit>
#include <cstring>

#include "emulator/check/checker_state.h"

namespace ak::emulator {
namespace {

template <class Body>
void for_each(std::uint32_t mask, Body body) {
  for (; mask != 0; mask &= mask - 1) body(std::countr_zero(mask));
}

/// Offsets from `base`; true when all are aligned and in [0, size).
bool locate(const std::uint64_t* addresses, std::uint32_t mask, std::uint64_t base, std::uint64_t size,
            std::uint32_t bytes, Offsets& offsets) {
  const std::uint64_t inside = addresses[std::countr_zero(mask)];
  if (mask == kAllLanes) {
    for (int i = 0; i < kLanes; ++i) offsets.at[i] = addresses[i] - base;
  } else {
    for (int i = 0; i < kLanes; ++i) offsets.at[i] = ((mask >> i & 1u) != 0 ? addresses[i] : inside) - base;
  }
  const std::uint64_t limit = size - bytes, first = offsets.at[0];
  std::uint64_t low = 0, outside = 0, unequal = 0, uneven = 0;
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    low |= offsets.at[i];
    outside |= offsets.at[i] | (limit - offsets.at[i]);
    unequal |= offsets.at[i] ^ first;
    uneven |= offsets.at[i] ^ (first + i * bytes);
  }
  offsets.pattern = unequal == 0                       ? LanePattern::uniform
                    : uneven == 0 && mask == kAllLanes ? LanePattern::consecutive
                                                       : LanePattern::scattered;
  return size >= bytes && (low & (bytes - 1)) == 0 && outside >> 63 == 0;
}

// One byte of state per byte of memory, 1: written. Looked at as many at a time as an access has.

template <class T>
std::uint32_t unwritten_as(const std::uint8_t* states, const Offsets& offsets, std::uint32_t parts) {
  constexpr T kWritten = static_cast<T>(0x0101010101010101ull);
  std::uint32_t found = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    bool all = true;
    for (std::uint32_t part = 0; part < parts; ++part) {
      T state;
      std::memcpy(&state, states + offsets.at[lane] + part * sizeof(T), sizeof(T));
      all &= state == kWritten;
    }
    found |= static_cast<std::uint32_t>(!all) << lane;
  }
  return found;
}

/// First byte in [0, bytes) that has not been written; `bytes` when all have.
std::uint64_t first_unwritten(const std::uint8_t* states, std::uint64_t bytes) {
  const void* found = std::memchr(states, 0, bytes);
  return found == nullptr ? bytes
                          : static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(found) - states);
}

std::uint32_t unwritten(const std::uint8_t* states, const Offsets& offsets, std::uint32_t bytes) {
  if (offsets.pattern == LanePattern::uniform)
    return first_unwritten(states + offsets.at[0], bytes) == bytes ? 0 : kAllLanes;
  const std::uint64_t span = std::uint64_t{kLanes} * bytes;
  if (offsets.pattern == LanePattern::consecutive && first_unwritten(states + offsets.at[0], span) == span)
    return 0;
  switch (bytes) {
    case 1:
      return unwritten_as<std::uint8_t>(states, offsets, 1);
    case 2:
      return unwritten_as<std::uint16_t>(states, offsets, 1);
    case 4:
      return unwritten_as<std::uint32_t>(states, offsets, 1);
    default:
      return unwritten_as<std::uint64_t>(states, offsets, bytes / 8);
  }
}

template <class T>
void mark_as(std::uint8_t* states, const Offsets& offsets, std::uint32_t parts) {
  constexpr T kWritten = static_cast<T>(0x0101010101010101ull);
  for (const std::uint64_t offset : offsets.at) {
    for (std::uint32_t part = 0; part < parts; ++part)
      std::memcpy(states + offset + part * sizeof(T), &kWritten, sizeof(T));
  }
}

void mark(std::uint8_t* states, const Offsets& offsets, std::uint32_t bytes) {
  if (offsets.pattern != LanePattern::scattered) {
    const bool one = offsets.pattern == LanePattern::uniform;
    std::memset(states + offsets.at[0], 1, one ? bytes : std::size_t{kLanes} * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      return mark_as<std::uint8_t>(states, offsets, 1);
    case 2:
      return mark_as<std::uint16_t>(states, offsets, 1);
    case 4:
      return mark_as<std::uint32_t>(states, offsets, 1);
    default:
      return mark_as<std::uint64_t>(states, offsets, bytes / 8);
  }
}

}  // namespace

std::uint32_t Checker::State::in_bounds(const CheckedAccess& request, const std::uint64_t* addresses,
                                        std::uint32_t mask, std::uint64_t size, Offsets& offsets) {
  const std::uint32_t bytes = request.touch.bytes;
  if (locate(addresses, mask, 0, size, bytes, offsets)) return mask;
  std::uint32_t outside = 0, uneven = 0;
  for_each(mask, [&](int lane) {
    if (addresses[lane] > size || bytes > size - addresses[lane])
      outside |= 1u << lane;
    else if ((addresses[lane] & (bytes - 1)) != 0)
      uneven |= 1u << lane;
  });
  for (const auto& [kind, lanes] :
       {std::pair{FaultKind::out_of_bounds, outside}, {FaultKind::misaligned, uneven}}) {
    if (lanes == 0) continue;
    const int lane = std::countr_zero(lanes);
    report(request, kind, lane, addresses[lane], lanes);
  }
  mask &= ~outside & ~uneven;
  if (mask != 0) static_cast<void>(locate(addresses, mask, 0, size, bytes, offsets));
  return mask;
}

bool Checker::State::follows_variable(const CheckedAccess& request) const {
  const Space space = launch.program.extent_of(request.touch.op).space;
  return space != Space::none &&
         (space == request.space || (space == Space::shared && request.space == Space::shared_cluster));
}

/// Lanes that stay in the variable that their address is derived from; faults for the others.
std::uint32_t Checker::State::in_variable(const CheckedAccess& request, const std::uint64_t* addresses,
                                          std::uint32_t mask) {
  if (!follows_variable(request)) return mask;
  const Extent extent = launch.program.extent_of(request.touch.op);
  std::uint32_t outside = 0;
  for_each(mask, [&](int lane) {
    const std::uint64_t address = addresses[lane];
    if (address < extent.begin || address + request.bytes() > extent.end) outside |= 1u << lane;
  });
  if (outside == 0) return mask;
  const int lane = std::countr_zero(outside);
  report(request, FaultKind::out_of_bounds, lane, addresses[lane], outside);
  return mask & ~outside;
}

bool Checker::State::run_in_variable(const CheckedAccess& request, const Run& run) const {
  const Extent extent = launch.program.extent_of(request.touch.op);
  const std::uint64_t bytes = request.space == Space::local ? run.lane_bytes : run.bytes();
  return !follows_variable(request) || (run.address >= extent.begin && run.address + bytes <= extent.end);
}

// ---- shared memory

std::uint32_t Checker::State::shared(const CheckedAccess& request, const std::uint64_t* addresses,
                                     std::uint32_t mask) {
  Block& block = *request.warp.block;
  Offsets offsets;
  mask = in_variable(request, addresses, mask);
  if (mask == 0) return 0;
  mask = in_bounds(request, addresses, mask, block.shared_bytes, offsets);
  if (mask == 0) return 0;
  const Conflict conflict = shadow(block).touch(request.touch, offsets.at, mask, offsets.pattern);
  if (conflict.lanes != 0) [[unlikely]]
    report_race(request, conflict, 0);
  if (request.touch.async) check_proxies(request, offsets.at, mask & ~conflict.lanes);
  if (async.watches(block, request.touch.writes)) async.access_lanes(request, offsets.at, mask);
  if (block.shared_written.empty() || request.touch.copy) return mask;
  std::uint8_t* const states = block.shared_written.data();
  if (request.touch.reads) {
    const std::uint32_t bad = unwritten(states, offsets, request.touch.bytes) & mask & ~conflict.lanes;
    if (bad != 0) [[unlikely]]
      read_unwritten(request, addresses, bad, states, offsets);
  }
  if (request.touch.writes) mark(states, offsets, request.touch.bytes);
  return mask;
}

bool Checker::State::shared_run(const CheckedAccess& request, const Run& run) {
  Block& block = *request.warp.block;
  if (run.address > block.shared_bytes || run.bytes() > block.shared_bytes - run.address) return false;
  if (!run_in_variable(request, run)) return false;
  std::uint8_t* const states = block.shared_written.data() + run.address;
  if (request.touch.reads && first_unwritten(states, run.bytes()) != run.bytes()) return false;
  const Conflict conflict = shadow(block).touch_run(request.touch, run.address, kAllLanes, run.uniform);
  if (conflict.lanes != 0) [[unlikely]]
    report_race(request, conflict, 0);
  if (async.watches(block, request.touch.writes))
    async.access(request, block, static_cast<std::uint32_t>(run.address),
                 static_cast<std::uint32_t>(run.bytes()), 0);
  if (request.touch.writes) std::memset(states, 1, run.bytes());
  return true;
}

// Other blocks' shared memory: bounds and what has been written. Its clocks are of another block: what orders
// the two is async_checker_cluster.cpp's.
std::uint32_t Checker::State::remote(const CheckedAccess& request, Block& owner, std::uint64_t address,
                                     std::uint32_t offset, int lane) {
  const std::uint64_t bytes = request.bytes();
  const std::uint32_t bit = 1u << lane;
  const auto fault = [&](FaultKind kind) { report(request, kind, lane, address, bit); };
  if (offset > owner.shared_bytes || bytes > owner.shared_bytes - offset)
    return fault(FaultKind::out_of_bounds), 0;
  if (request.range_bytes == 0 && (offset & (bytes - 1)) != 0) return fault(FaultKind::misaligned), 0;
  if (&owner != request.warp.block)
    async.remote_access(request, owner, offset, static_cast<std::uint32_t>(bytes), lane);
  if (owner.shared_written.empty()) return bit;
  std::uint8_t* const states = owner.shared_written.data() + offset;
  if (request.touch.reads && first_unwritten(states, bytes) != bytes) fault(FaultKind::uninitialized_read);
  if (request.touch.writes && !request.touch.copy) std::memset(states, 1, bytes);
  return bit;
}

std::uint32_t Checker::State::cluster(const CheckedAccess& request, const std::uint64_t* addresses,
                                      std::uint32_t mask) {
  const Block& self = *request.warp.block;
  std::uint64_t offsets[kLanes];
  std::uint32_t own = 0, fine = 0;
  for_each(mask, [&](int lane) {
    const std::uint64_t rank = addresses[lane] >> kClusterRankShift;
    offsets[lane] = addresses[lane] & ((1ull << kClusterRankShift) - 1);
    if (rank == 0 || rank == std::uint64_t{self.cluster_rank} + 1)
      own |= 1u << lane;
    else if (rank > self.cluster.size())
      report(request, rank == kElsewhereRank ? FaultKind::wrong_space : FaultKind::out_of_bounds, lane,
             addresses[lane], 1u << lane);
    else
      fine |= remote(request, *self.cluster[rank - 1], addresses[lane],
                     static_cast<std::uint32_t>(offsets[lane]), lane);
  });
  return own == 0 ? fine : fine | shared(request, offsets, own);
}

bool Checker::State::shared_range(const CheckedAccess& request, std::uint64_t address, int lane) {
  Block& block = *request.warp.block;
  const std::uint64_t rank = address >> kClusterRankShift;
  const std::uint64_t offset = address & ((1ull << kClusterRankShift) - 1);
  const bool own = rank == 0 || rank == std::uint64_t{block.cluster_rank} + 1;
  if (!own && rank > block.cluster.size())
    return report(request, FaultKind::out_of_bounds, lane, address, 1u << lane), false;
  Block& owner = own ? block : *block.cluster[rank - 1];
  // Which blocks of a cluster a copy goes to is not known here: it is not followed.
  const bool followed = own && !(request.touch.copy && block.cluster.size() > 1);
  Conflict conflict;
  if (followed && offset <= block.shared_bytes && request.bytes() <= block.shared_bytes - offset)
    conflict = shadow(block).touch_range(request.touch, offset, request.bytes(), lane);
  if (followed && request.touch.async && conflict.lanes == 0) {
    std::uint64_t offsets[kLanes] = {};
    offsets[lane] = offset;
    check_proxies(request, offsets, 1u << lane);
  }
  if (own && async.watches(block, request.touch.writes))
    async.access(request, block, static_cast<std::uint32_t>(offset),
                 static_cast<std::uint32_t>(request.bytes()), lane);
  if (conflict.lanes == 0)
    return remote(request, owner, address, static_cast<std::uint32_t>(offset), lane) != 0;
  report_race(request, conflict, 0);
  return true;
}

void Checker::State::check_proxies(const CheckedAccess& request, const std::uint64_t* offsets,
                                   std::uint32_t mask) {
  // Libraries read what cp.async brought without a proxy fence (CUTLASS, pipelines of wgmma).
  const auto counts = [&](Index op) {
    return op >= launch.program.facts.size() || launch.program.facts[op].kind != InstructionClass::async_copy;
  };
  const Conflict found = shadow(*request.warp.block).unfenced(offsets, mask, request.bytes(), counts);
  if (found.lanes != 0) [[unlikely]]
    report_race(request, found, 0);
}

// ---- local memory and parameters

std::uint32_t Checker::State::local(const CheckedAccess& request, const std::uint64_t* addresses,
                                    std::uint32_t mask) {
  const std::uint64_t lane_bytes = launch.program.local_bytes;
  Offsets offsets;
  mask = in_variable(request, addresses, mask);
  if (mask == 0) return 0;
  mask = in_bounds(request, addresses, mask, lane_bytes, offsets);
  if (mask == 0 || request.warp.local_written == nullptr) return mask;
  const auto inside = static_cast<std::uint64_t>(std::countr_zero(mask));
  for (std::uint64_t i = 0; i < kLanes; ++i)
    offsets.at[i] += ((mask >> i & 1u) != 0 ? i : inside) * lane_bytes;
  offsets.pattern = LanePattern::scattered;
  if (request.touch.reads) {
    const std::uint32_t bad = unwritten(request.warp.local_written, offsets, request.touch.bytes) & mask;
    if (bad != 0) [[unlikely]]
      read_unwritten(request, addresses, bad, request.warp.local_written, offsets);
  }
  if (request.touch.writes) mark(request.warp.local_written, offsets, request.touch.bytes);
  return mask;
}

bool Checker::State::local_run(const CheckedAccess& request, const Run& run) {
  std::uint8_t* const states = request.warp.local_written;
  if (!run_in_variable(request, run)) return false;
  if (states == nullptr) return true;
  Offsets offsets;
  for (std::uint64_t i = 0; i < kLanes; ++i) offsets.at[i] = run.address + i * launch.program.local_bytes;
  if (request.touch.reads && unwritten(states, offsets, run.lane_bytes) != 0) return false;
  if (request.touch.writes) mark(states, offsets, run.lane_bytes);
  return true;
}

std::uint32_t Checker::State::parameters(const CheckedAccess& request, const std::uint64_t* addresses,
                                         std::uint32_t mask) {
  Offsets offsets;
  mask = in_bounds(request, addresses, mask, launch.parameters.size(), offsets);
  if (mask == 0 || !request.touch.writes) return mask;
  const int lane = std::countr_zero(mask);
  report(request, FaultKind::read_only, lane, addresses[lane], mask);
  return 0;
}

// ---- global memory

std::optional<FaultKind> Checker::State::global_fault(const CheckedAccess& request,
                                                      std::uint64_t address) const {
  if (request.range_bytes == 0 && (address & (request.touch.bytes - 1)) != 0) return FaultKind::misaligned;
  const std::uint64_t window = address & kWindowMask;
  if (window == kSharedWindow || window == kLocalWindow || window == kParameterWindow)
    return FaultKind::wrong_space;
  const Region* region = launch.arena.find(address);
  if (region == nullptr || !region->mapped || request.bytes() > region->address + region->bytes - address)
    return FaultKind::out_of_bounds;
  return region->read_only && request.touch.writes ? std::optional(FaultKind::read_only) : std::nullopt;
}

// Only where the gate is off: then the access goes wherever there is memory.
bool Checker::State::let_through(const CheckedAccess& request, std::uint64_t address, FaultKind fault) const {
  if (gate_enabled(gate_of(fault)) || launch.arena.host(address, request.bytes()) == nullptr) return false;
  const Region* region = launch.arena.find(address);
  return region == nullptr || region->mapped || !gate_enabled(Gate::unmapped_reference);
}

std::uint32_t Checker::State::global_by_lane(const CheckedAccess& request, const std::uint64_t* addresses,
                                             std::uint32_t mask) {
  constexpr FaultKind kKinds[] = {FaultKind::misaligned, FaultKind::wrong_space, FaultKind::out_of_bounds,
                                  FaultKind::read_only};
  std::uint32_t faulty[std::size(kKinds)] = {}, fine = 0;
  for_each(mask, [&](int lane) {
    auto fault = global_fault(request, addresses[lane]);
    if (fault && let_through(request, addresses[lane], *fault)) fault.reset();
    if (!fault) fine |= 1u << lane;
    for (std::size_t i = 0; i < std::size(kKinds); ++i)
      faulty[i] |= static_cast<std::uint32_t>(fault == kKinds[i]) << lane;
  });
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    if (faulty[i] == 0) continue;
    const int lane = std::countr_zero(faulty[i]);
    report(request, kKinds[i], lane, addresses[lane], faulty[i]);
  }
  return fine;
}

std::uint32_t Checker::State::global(const CheckedAccess& request, const std::uint64_t* addresses,
                                     std::uint32_t mask) {
  const Touch& touch = request.touch;
  const Region* region = launch.arena.find(addresses[std::countr_zero(mask)]);
  Offsets offsets;
  const bool sound = region != nullptr && region->mapped && !(region->read_only && touch.writes) &&
                     (region->address & (touch.bytes - 1)) == 0 &&
                     locate(addresses, mask, region->address, region->bytes, touch.bytes, offsets);
  if (sound) {
    for (std::uint64_t& offset : offsets.at) offset += region->address - kGlobalBase;
  } else {
    mask = global_by_lane(request, addresses, mask);
    if (mask == 0) return 0;
    static_cast<void>(locate(addresses, mask, kGlobalBase, launch.arena.used(), touch.bytes, offsets));
  }
  if (std::uint8_t* const states = launch.arena.initialized(); states != nullptr) {
    const std::uint32_t bad = touch.reads ? unwritten(states, offsets, touch.bytes) & mask : 0;
    if (bad != 0) [[unlikely]]
      read_unwritten(request, addresses, bad, states, offsets);
    if (touch.writes) mark(states, offsets, touch.bytes);
  }
  if (touch.non_coherent && !(sound && region->read_only)) check_coherence(request, offsets.at, mask);
  if (launch.touched != nullptr) [[unlikely]]
    note_touched(request, offsets.at, mask);
  // What no one may write, no one conflicts in.
  if (sound && region->read_only) return mask;
  if (follows_launches(*request.warp.block)) [[unlikely]]
    for_each(mask, [&](int lane) { across_launches(request, offsets.at[lane], lane); });
  global_lanes(request, offsets.at, mask, offsets.pattern);
  if (!follows_global) return mask;
  const auto block = static_cast<std::uint32_t>(request.warp.block->linear);
  const Conflict conflict = global_shadow.touch(touch, block, offsets.at, mask, offsets.pattern);
  if (conflict.lanes != 0) [[unlikely]]
    report_conflict(request, conflict, kGlobalBase);
  return mask;
}

void Checker::State::global_lanes(const CheckedAccess& request, const std::uint64_t* offsets,
                                  std::uint32_t mask, LanePattern pattern) {
  const Conflict conflict = shadow(*request.warp.block).touch_global(request.touch, offsets, mask, pattern);
  if (conflict.lanes != 0) [[unlikely]]
    report_race(request, conflict, kGlobalBase);
}

void Checker::State::check_coherence(const CheckedAccess& request, const std::uint64_t* offsets,
                                     std::uint32_t mask) {
  for (; mask != 0; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    const BlockRecord written = global_shadow.write_in(offsets[lane], request.touch.bytes);
    if (written.bits == 0) continue;
    report_conflict(
        request,
        {.lanes = mask, .lane = lane, .at = offsets[lane], .record = written.bits, .other_writes = true},
        kGlobalBase);
    return;
  }
}

void Checker::State::note_touched(const CheckedAccess& request, const std::uint64_t* offsets,
                                  std::uint32_t mask) {
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t offset = offsets[std::countr_zero(mask)];
    if (request.touch.reads) launch.touched->add_input(offset, request.bytes());
    if (request.touch.writes) launch.touched->add(offset, request.bytes(), true);
  }
}

void Checker::State::across_launches(const CheckedAccess& request, std::uint64_t offset, int lane) {
  if (request.touch.strong) return;
  if (footprint != nullptr) footprint->add(offset, request.bytes(), request.touch.writes);
  if (!request.warp.block->waited && launch.before->meets(offset, request.bytes(), request.touch.writes))
    report(request, FaultKind::early_access, lane, offset + kGlobalBase, 1u << lane,
           "the launch before uses these bytes and may still run");
}

bool Checker::State::global_run(const CheckedAccess& request, const Run& run) {
  const Region* region = launch.arena.find(run.address);
  if (region == nullptr || !region->mapped || (region->read_only && request.touch.writes) ||
      run.bytes() > region->address + region->bytes - run.address)
    return false;
  if (launch.touched != nullptr || (follows_launches(*request.warp.block) && !region->read_only)) [[unlikely]]
    return false;
  const std::uint64_t offset = run.address - kGlobalBase;
  std::uint8_t* const states = launch.arena.initialized();
  const bool look =
      states != nullptr && request.touch.reads && !(region->read_only && launch.arena.all_written(*region));
  if (look && first_unwritten(states + offset, run.bytes()) != run.bytes()) return false;
  if (request.touch.non_coherent && !region->read_only &&
      global_shadow.write_in(offset, run.bytes()).bits != 0)
    return false;
  const auto block = static_cast<std::uint32_t>(request.warp.block->linear);
  if (follows_global && !region->read_only &&
      !global_shadow.touch_run(request.touch, block, offset, run.bytes()))
    return false;
  if (states != nullptr && request.touch.writes) std::memset(states + offset, 1, run.bytes());
  if (region->read_only) return true;
  const Conflict conflict =
      shadow(*request.warp.block).touch_global_run(request.touch, offset, kAllLanes, run.uniform);
  if (conflict.lanes != 0) [[unlikely]]
    report_race(request, conflict, kGlobalBase);
  return true;
}

bool Checker::State::global_range(const CheckedAccess& request, std::uint64_t address, int lane) {
  if (const auto fault = global_fault(request, address))
    return report(request, *fault, lane, address, 1u << lane), false;
  const std::uint64_t offset = address - kGlobalBase, bytes = request.bytes();
  if (std::uint8_t* const states = launch.arena.initialized(); states != nullptr) {
    const std::uint64_t bad = request.touch.reads ? first_unwritten(states + offset, bytes) : bytes;
    if (bad != bytes) report(request, FaultKind::uninitialized_read, lane, address + bad, 1u << lane);
    if (request.touch.writes) std::memset(states + offset, 1, bytes);
  }
  const bool read_only = launch.arena.find(address)->read_only;
  if (follows_launches(*request.warp.block) && !read_only) [[unlikely]]
    across_launches(request, offset, lane);
  if (!follows_global || read_only) return true;
  const auto block = static_cast<std::uint32_t>(request.warp.block->linear);
  const Conflict conflict = global_shadow.touch_range(request.touch, block, offset, bytes, lane);
  if (conflict.lanes != 0) report_conflict(request, conflict, kGlobalBase);
  return true;
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/memory_access.h"

#include <fmt/format.h>

#include <bit>

#include "emulator/machine/address_window.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_counts.h"

namespace ak::emulator {
namespace {

/// Addresses of a space that are one range of host memory; `lane_bytes` further for every lane.
struct Range {
  std::byte* host = nullptr;
  std::uint64_t first = 0, bytes = 0;
  std::uint64_t lane_bytes = 0;
};

Range range_of(const Warp& warp, Space space) {
  Launch& launch = *warp.launch;
  switch (space) {
    case Space::shared:
    case Space::shared_cluster:
      return {warp.block->shared, 0, warp.block->shared_bytes, 0};
    case Space::local:
      return {warp.local, 0, launch.program.local_bytes, launch.program.local_bytes};
    case Space::param:
      return {launch.parameters.data(), 0, launch.parameters.size(), 0};
    default:
      return {launch.arena.base(), kGlobalBase, launch.arena.used(), 0};
  }
}

bool in_shared_memory(Space space) { return space == Space::shared || space == Space::shared_cluster; }

/// What is true of 32 addresses, as bits that any of them sets.
struct Scan {
  std::uint64_t low = 0;      ///< of the addresses: their alignment
  std::uint64_t outside = 0;  ///< top bit: one is out of bounds
  std::uint64_t uneven = 0;   ///< not each `bytes` after the one before
  std::uint64_t unequal = 0;
};

Scan scan(const std::uint64_t* addresses, const Range& range, std::uint32_t bytes) {
  Scan all;
  const std::uint64_t origin = addresses[0];
  // With both below 2^63 the difference has its top bit set where the offset is beyond the limit.
  const std::uint64_t limit = range.bytes - bytes, first = range.first;
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    const std::uint64_t offset = addresses[i] - first;
    all.low |= addresses[i];
    all.outside |= offset | (limit - offset);
    all.uneven |= addresses[i] - origin - i * bytes;
    all.unequal |= addresses[i] ^ origin;
  }
  if (range.bytes < bytes) all.outside = ~std::uint64_t{0};
  return all;
}

/// So that all 32 addresses can be looked at: lanes outside `mask` get the address of one inside.
void fill_inactive(std::uint64_t* addresses, std::uint32_t mask) {
  const std::uint64_t inside = addresses[std::countr_zero(mask)];
  for (int i = 0; i < kLanes; ++i) addresses[i] = (mask >> i & 1u) != 0 ? addresses[i] : inside;
}

/// Replaces generic addresses that lie in one window by offsets in its space; none when they do not.
Space leave_window(std::uint64_t* addresses) {
  std::uint64_t unequal = 0;
  for (int i = 0; i < kLanes; ++i) unequal |= addresses[i] ^ addresses[0];
  if ((unequal & kWindowMask) != 0) return Space::none;
  const Space space = space_of_window(addresses[0]);
  if (space == Space::global) return space;
  for (int i = 0; i < kLanes; ++i) addresses[i] &= ~kWindowMask;
  return space;
}

std::byte* within(std::byte* memory, std::uint64_t size, std::uint64_t offset, std::uint32_t bytes) {
  return memory != nullptr && offset <= size && bytes <= size - offset ? memory + offset : nullptr;
}

/// Host memory of one lane; null when the address is out of bounds.
std::byte* host_of(const Warp& warp, Space space, std::uint64_t address, int lane, std::uint32_t bytes) {
  const std::uint64_t rank = address >> kClusterRankShift;
  if (in_shared_memory(space) && rank != 0) {
    const Block& self = *warp.block;
    if (rank > self.cluster.size()) return nullptr;
    const Block& owner = *self.cluster[rank - 1];
    const std::uint64_t offset = address & ((std::uint64_t{1} << kClusterRankShift) - 1);
    return within(owner.shared, owner.shared_bytes, offset, bytes);
  }
  const Range range = range_of(warp, space);
  std::byte* host = within(range.host, range.bytes, address - range.first, bytes);
  return host == nullptr ? nullptr : host + static_cast<std::uint32_t>(lane) * range.lane_bytes;
}

bool in_other_block(const Warp& warp, std::uint64_t shared_address) {
  const std::uint64_t rank = shared_address >> kClusterRankShift;
  return rank != 0 && rank <= warp.block->cluster.size() &&
         rank != std::uint64_t{warp.block->cluster_rank} + 1;
}

/// A fault that shows before bounds are looked at.
std::optional<FaultKind> fault_of(const Warp& warp, Space space, const AccessRequest& request,
                                  std::uint64_t address) {
  // The checker sees these itself, and knows the buffer.
  const bool checked = warp.launch->checker != nullptr && space != Space::param;
  if (!checked && (address & (request.bytes - 1)) != 0) return FaultKind::misaligned;
  const bool reads = request.purpose == Purpose::load;
  if (!reads && (space == Space::param || space == Space::constant)) return FaultKind::read_only;
  if (request.purpose == Purpose::update && space == Space::local) return FaultKind::wrong_space;
  if (space == Space::shared && in_other_block(warp, address)) return FaultKind::wrong_space;
  return std::nullopt;
}

bool any_rank(const std::uint64_t* addresses, std::uint32_t mask) {
  bool any = false;
  for_each_lane(mask, [&](int i) { any |= addresses[i] >> kClusterRankShift != 0; });
  return any;
}

std::uint32_t ask_checker(Warp& warp, const Op& op, Space space, const AccessRequest& request,
                          const std::uint64_t* addresses, std::uint32_t mask) {
  // Parameters are read only and always initialised: bounds are all there is to check.
  if (warp.launch->checker == nullptr || space == Space::param || mask == 0) return mask;
  AccessKind kind = request.kind;
  if (in_shared_memory(space)) space = any_rank(addresses, mask) ? Space::shared_cluster : Space::shared;
  // No one else sees a thread's local memory, however strong the access.
  if (space == Space::local) kind = request.purpose == Purpose::load ? AccessKind::read : AccessKind::write;
  return mask & warp.launch->checker->access(warp, op, space, addresses, mask, request.bytes, kind);
}

/// Lane by lane: access.pointers of the lanes that may continue, which are returned.
std::uint32_t admit(Warp& warp, const Op& op, Space space, const AccessRequest& request, std::uint32_t mask,
                    Access& access) {
  std::uint32_t sound = 0, admitted = 0;
  for_each_lane(mask, [&](int lane) {
    const auto fault = fault_of(warp, space, request, access.addresses[lane]);
    if (fault)
      report_fault(warp, op, *fault, lane, access.addresses[lane], request.bytes);
    else
      sound |= 1u << lane;
  });
  sound = ask_checker(warp, op, space, request, access.addresses, sound);
  for_each_lane(sound, [&](int lane) {
    access.pointers[lane] = host_of(warp, space, access.addresses[lane], lane, request.bytes);
    if (access.pointers[lane] == nullptr)
      report_fault(warp, op, FaultKind::out_of_bounds, lane, access.addresses[lane], request.bytes);
    else
      admitted |= 1u << lane;
  });
  if (in_shared_memory(space)) access.shared |= admitted;
  count_access(warp, op, space, access.addresses, admitted, request.bytes);
  return admitted;
}

void scatter(Access& access, std::uint32_t wanted, std::uint32_t admitted) {
  access.mask = admitted;
  access.failed = wanted & ~admitted;
  access.pattern = admitted == 0 ? Pattern::none : Pattern::scattered;
  if (admitted == 0) return;
  std::byte* const inside = access.pointers[std::countr_zero(admitted)];
  for_each_lane(~admitted, [&](int lane) { access.pointers[lane] = inside; });
}

/// Generic addresses in several windows: one space after the other.
void resolve_mixed(Warp& warp, const Op& op, const AccessRequest& request, Access& access) {
  std::uint32_t left = warp.mask, admitted = 0;
  while (left != 0) {
    const Space space = space_of_window(access.addresses[std::countr_zero(left)]);
    std::uint32_t same = 0;
    for_each_lane(left, [&](int lane) {
      std::uint64_t& address = access.addresses[lane];
      if (space_of_window(address) != space) return;
      same |= 1u << lane;
      if (space != Space::global) address &= ~kWindowMask;
    });
    admitted |= admit(warp, op, space, request, same, access);
    left &= ~same;
  }
  scatter(access, warp.mask, admitted);
}

void fill_pointers(Access& access, const Range& range) {
  std::byte* const host = range.host;
  const std::uint64_t first = range.first, lane_bytes = range.lane_bytes;
  for (std::uint64_t i = 0; i < kLanes; ++i)
    access.pointers[i] = host + (access.addresses[i] - first + i * lane_bytes);
}

/// The pattern of addresses that are all in bounds.
void find_pattern(Access& access, const Range& range, const Scan& all, std::uint32_t bytes,
                  std::uint32_t mask) {
  const bool uniform = all.unequal == 0 && range.lane_bytes == 0;
  if (uniform || (all.uneven == 0 && range.lane_bytes == 0 && mask == kAllLanes)) {
    access.pattern = uniform ? Pattern::uniform : Pattern::consecutive;
    access.stride = uniform ? 0 : bytes;
    access.base = range.host + (access.addresses[0] - range.first);
  } else {
    access.pattern = Pattern::scattered;
    fill_pointers(access, range);
  }
}

/// Whether 32 bases are equal or `bytes` apart: the access then needs no look at each.
template <class T>
Pattern pattern_of(const T* bases, std::uint32_t bytes) {
  const T origin = bases[0];
  T unequal = 0, uneven = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const T distance = static_cast<T>(bases[i] - origin);
    unequal |= distance;
    uneven |= distance ^ static_cast<T>(i * bytes);
  }
  return unequal == 0 ? Pattern::uniform : uneven == 0 ? Pattern::consecutive : Pattern::scattered;
}

/// Local memory at one offset of every lane.
void scatter_by_lane(Access& access, const Range& range) {
  access.pattern = Pattern::scattered;
  for (std::uint64_t i = 0; i < kLanes; ++i) access.pointers[i] = access.base + i * range.lane_bytes;
}

/// The common case: a whole warp at uniform or consecutive addresses in bounds, with which the checker finds
/// nothing wrong. False: everything else, and nothing has been recorded.
bool resolve_quickly(Warp& warp, const Op& op, const AccessRequest& request, Access& access) {
  if (warp.mask != kAllLanes) return false;
  std::uint64_t address = 0;
  if ((op.aux & kWideBase) != 0) {
    const std::uint64_t* bases = source<std::uint64_t>(warp, op.a);
    access.pattern = pattern_of(bases, request.bytes);
    address = bases[0] + static_cast<std::uint64_t>(op.immediate);
  } else {
    const std::uint32_t* bases = source<std::uint32_t>(warp, op.a);
    access.pattern = pattern_of(bases, request.bytes);
    address = bases[0] + static_cast<std::uint32_t>(op.immediate);
  }
  if (access.pattern == Pattern::scattered || (address & (request.bytes - 1)) != 0) return false;
  auto space = static_cast<Space>(op.aux & kSpaceMask);
  if (space == Space::none) {
    space = space_of_window(address);
    if (space != Space::global) address &= ~kWindowMask;
  }
  const bool local = space == Space::local;
  if (local && (access.pattern != Pattern::uniform || request.purpose == Purpose::update)) return false;
  const bool writable = local || space == Space::global || in_shared_memory(space);
  if (request.purpose != Purpose::load && !writable) return false;
  const Range range = range_of(warp, space);
  access.stride = access.pattern == Pattern::uniform ? 0 : request.bytes;
  access.base =
      within(range.host, range.bytes, address - range.first, access.stride * (kLanes - 1) + request.bytes);
  if (access.base == nullptr) return false;
  const Run run{address, request.bytes, access.pattern == Pattern::uniform};
  if (Checker* const checker = warp.launch->checker; checker != nullptr && space != Space::param) {
    if (!checker->access_run(warp, op, space, run, request.kind)) return false;
  }
  count_run(warp, op, space, run);
  access.mask = kAllLanes;
  access.failed = 0;
  access.shared = in_shared_memory(space) ? kAllLanes : 0;
  if (local) scatter_by_lane(access, range);
  return true;
}

}  // namespace

void report_fault(Warp& warp, const Op& op, FaultKind kind, int lane, std::uint64_t address,
                  std::uint32_t bytes) {
  warp.launch->fault(warp, op, kind, lane, fmt::format("{} bytes at address 0x{:x}", bytes, address));
  if (warp.launch->checker == nullptr) warp.launch->stop = true;
}

void compute_addresses(const Warp& warp, Slot base, bool wide, std::int64_t offset,
                       std::uint64_t* addresses) {
  const auto added = static_cast<std::uint64_t>(offset);
  if (wide) {
    const std::uint64_t* from = source<std::uint64_t>(warp, base);
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) addresses[i] = from[i] + added;
  } else {
    const std::uint32_t* from = source<std::uint32_t>(warp, base);
    const auto narrow = static_cast<std::uint32_t>(added);
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) addresses[i] = from[i] + narrow;
  }
}

void resolve(Warp& warp, const Op& op, Space space, const AccessRequest& request, Access& access) {
  const std::uint32_t mask = warp.mask;
  access.mask = mask;
  access.failed = access.shared = 0;
  if (mask != kAllLanes) fill_inactive(access.addresses, mask);
  if (space == Space::none) {
    space = leave_window(access.addresses);
    if (space == Space::none) return resolve_mixed(warp, op, request, access);
  }
  const Range range = range_of(warp, space);
  const Scan all = scan(access.addresses, range, request.bytes);
  const bool ordinary = space == Space::global || in_shared_memory(space) ||
                        request.purpose == Purpose::load ||
                        (space == Space::local && request.purpose == Purpose::store);
  if (all.outside >> 63 != 0 || (all.low & (request.bytes - 1)) != 0 || !ordinary) [[unlikely]]
    return scatter(access, mask, admit(warp, op, space, request, mask, access));
  if (in_shared_memory(space)) access.shared = mask;
  find_pattern(access, range, all, request.bytes, mask);
  const std::uint32_t admitted = ask_checker(warp, op, space, request, access.addresses, mask);
  count_access(warp, op, space, access.addresses, admitted, request.bytes);
  if (admitted == mask) return;
  if (access.pattern != Pattern::scattered) fill_pointers(access, range);
  scatter(access, mask, admitted);
}

void resolve(Warp& warp, const Op& op, const AccessRequest& request, Access& access) {
  if (resolve_quickly(warp, op, request, access)) return;
  compute_addresses(warp, op.a, (op.aux & kWideBase) != 0, op.immediate, access.addresses);
  resolve(warp, op, static_cast<Space>(op.aux & kSpaceMask), request, access);
}

}  // namespace ak::emulator

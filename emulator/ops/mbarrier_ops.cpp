// SPDX-License-Identifier: Apache-2.0
// mbarrier: barriers in shared memory that count arrivals and bytes of asynchronous copies.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/check/async_checker.h"
#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/barriers.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/mbarrier.h"

namespace ak::emulator {
namespace {

constexpr std::uint64_t kBytes = 8;

std::uint64_t address_of(const Warp& warp, const Op& op, int lane) {
  const bool wide = (op.aux & 1u) != 0;
  const std::uint64_t base =
      wide ? source<std::uint64_t>(warp, op.a)[lane] : source<std::uint32_t>(warp, op.a)[lane];
  const std::uint64_t address = base + static_cast<std::uint64_t>(op.immediate);
  return wide ? address : address & 0xFFFFFFFFu;
}

void refuse(Warp& warp, const Op& op, int lane, FaultKind kind, const std::string& why) {
  warp.launch->fault(warp, op, kind, lane, why);
  warp.launch->stop = true;
}

/// What a phase still waits for.
std::string missing_text(const Mbarrier& barrier) {
  const std::string arrivals = fmt::format("{} of {} arrivals", barrier.pending, barrier.expected);
  if (barrier.bytes > 0) return fmt::format("{} and {} bytes", arrivals, barrier.bytes);
  if (barrier.bytes == 0) return arrivals;
  return fmt::format("{}, and {} bytes more have come than were expected", arrivals, -barrier.bytes);
}

std::optional<SharedPlace> place_of_barrier(Warp& warp, const Op& op, int lane) {
  const std::uint64_t address = address_of(warp, op, lane);
  const auto place = shared_place(warp, address, kBytes);
  if (!place) {
    refuse(warp, op, lane, FaultKind::out_of_bounds,
           fmt::format("no mbarrier can be at address 0x{:x}", address));
  } else if (place->offset % kBytes != 0) {
    refuse(warp, op, lane, FaultKind::misaligned, "an mbarrier lies at a multiple of 8 bytes");
    return std::nullopt;
  }
  return place;
}

/// Runs `act(barrier, lane)` on the mbarrier of every lane in turn and stores what it left.
template <class F>
void for_each_barrier(Warp& warp, const Op& op, F act) {
  SharedPlace before;
  for_each_lane(warp.mask, [&](int lane) {
    const auto place = place_of_barrier(warp, op, lane);
    if (!place) return;
    const bool again = place->block == before.block && place->offset == before.offset;
    if (warp.launch->checker != nullptr && !again)
      warp.launch->checker->async().mbarrier_used(warp, op, lane, *place, false);
    before = *place;
    auto barrier = load_mbarrier(*place);
    if (!barrier)
      return refuse(warp, op, lane, FaultKind::uninitialized_read, "this mbarrier was not initialised");
    act(*barrier, *place, lane);
    store_mbarrier(*place, *barrier);
  });
}

void init(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) {
    const auto place = place_of_barrier(warp, op, lane);
    if (!place) return;
    const std::uint32_t count = source<std::uint32_t>(warp, op.b)[lane];
    if (count == 0 || count > Mbarrier::kMaxArrivals)
      return refuse(warp, op, lane, FaultKind::invalid_operand,
                    fmt::format("an mbarrier for {} arrivals", count));
    // Fresh shared memory holds no mbarrier: this block has made the one that is here.
    const auto before = load_mbarrier(*place);
    if (before && (before->pending != before->expected || before->bytes != 0))
      return refuse(warp, op, lane, FaultKind::invalid_operand,
                    fmt::format("this mbarrier is in use: its phase waits for {}", missing_text(*before)));
    if (warp.launch->checker != nullptr)
      warp.launch->checker->async().mbarrier_initialised(warp, op, lane, *place);
    store_mbarrier(*place, {.pending = count, .expected = count, .bytes = 0, .parity = false});
    if (!place->block->shared_written.empty())
      std::fill_n(place->block->shared_written.begin() + place->offset, kBytes, std::uint8_t{1});
  });
}

void invalidate(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) {
    if (const auto place = place_of_barrier(warp, op, lane))
      std::fill_n(place->host(), kBytes, std::byte{0xFE});
  });
}

/// Adds to the tx-count what `lane` says at `slot`, `sign` times. False, with a fault: it cannot hold that.
bool add_bytes(Warp& warp, const Op& op, Mbarrier& barrier, Slot slot, int lane, int sign) {
  const std::uint32_t bytes = source<std::uint32_t>(warp, slot)[lane];
  const std::int64_t sum = barrier.bytes + sign * std::int64_t{bytes};
  if (sum < -Mbarrier::kMaxBytes || sum > Mbarrier::kMaxBytes) {
    refuse(warp, op, lane, FaultKind::invalid_operand,
           fmt::format("{} bytes more at an mbarrier that waits for {}", bytes, barrier.bytes));
    return false;
  }
  barrier.bytes = static_cast<std::int32_t>(sum);
  return true;
}

void expect_bytes(Warp& warp, const Op& op) {
  for_each_barrier(warp, op, [&](Mbarrier& barrier, const SharedPlace&, int lane) {
    static_cast<void>(add_bytes(warp, op, barrier, op.b, lane, 1));
  });
}

void complete(Warp& warp, const Op& op) {
  for_each_barrier(warp, op, [&](Mbarrier& barrier, const SharedPlace&, int lane) {
    if (add_bytes(warp, op, barrier, op.b, lane, -1)) barrier.settle();
  });
}

/// Lanes whose address is that of `lane`.
std::uint32_t lanes_at(const Warp& warp, const Op& op, int lane) {
  const std::uint64_t address = address_of(warp, op, lane);
  std::uint32_t lanes = 0;
  for_each_lane(warp.mask, [&](int other) {
    lanes |= static_cast<std::uint32_t>(address_of(warp, op, other) == address) << other;
  });
  return lanes;
}

enum : std::uint32_t { kWide = 1, kExpectsBytes = 2, kDrops = 4, kKeepsState = 8 };

// d: state before the arrival; b: arrivals; c: bytes announced with it.
void arrive(Warp& warp, const Op& op) {
  alignas(64) std::uint64_t states[kLanes] = {};
  std::uint32_t together = 0;  // lanes that arrive where the last one did
  for_each_barrier(warp, op, [&](Mbarrier& barrier, const SharedPlace& place, int lane) {
    states[lane] = barrier.encode();
    const std::uint32_t count = source<std::uint32_t>(warp, op.b)[lane];
    if (count == 0 || count > barrier.pending)
      return refuse(warp, op, lane, FaultKind::invalid_operand,
                    fmt::format("{} arrivals at an mbarrier that waits for {} more of {}", count,
                                barrier.pending, barrier.expected));
    if ((op.aux & kExpectsBytes) != 0 && !add_bytes(warp, op, barrier, op.c, lane, 1)) return;
    if ((op.aux & kDrops) != 0) barrier.expected -= std::min(count, barrier.expected);
    if ((together >> lane & 1u) == 0) together = lanes_at(warp, op, lane);
    if (warp.launch->checker != nullptr)
      warp.launch->checker->released(warp, *place.block, place.offset, together);
    barrier.pending -= count;
    barrier.settle();
  });
  if ((op.aux & kKeepsState) != 0) write_lanes(warp, destination<std::uint64_t>(warp, op.d), states);
}

/// Predicate d: the phase named by state b, or by parity b, has completed. A wait that fails lets others run.
template <bool Parity>
void wait(Warp& warp, const Op& op) {
  std::uint32_t done = 0;
  for_each_barrier(warp, op, [&](Mbarrier& barrier, const SharedPlace& place, int lane) {
    const bool phase = Parity ? (source<std::uint32_t>(warp, op.b)[lane] & 1u) != 0
                              : (source<std::uint64_t>(warp, op.b)[lane] >> 63) != 0;
    if (phase == barrier.parity) return;
    done |= 1u << lane;
    if (warp.launch->checker != nullptr) warp.launch->checker->acquired(warp, *place.block, place.offset);
  });
  set_predicate(warp, op.d, done);
  const Index at = warp.launch->program.index_of(op);
  if (done != warp.mask) {
    warp.leave = warp.yield = true;
    warp.waits_at = at;
  } else if (warp.waits_at == at) {
    warp.waits_at = kNone;
  }
}

// cp.async.mbarrier.arrive: arrives once the lane's earlier cp.async copies are there; without .noinc the
// arrival is one more than the phase was initialised for.
template <bool CountsOneMore>
void arrive_after_copies(Warp& warp, const Op& op) {
  for_each_barrier(warp, op, [&](Mbarrier& barrier, const SharedPlace& place, int lane) {
    if (CountsOneMore && barrier.pending < Mbarrier::kMaxArrivals) ++barrier.pending;
    add_async_work(warp, [warp = &warp, place, lane, lanes = warp.mask](Launch& launch) {
      complete_copies(*warp, 1u << lane, 0);
      if (launch.checker != nullptr) launch.checker->released(*warp, *place.block, place.offset, lanes);
      auto reached = load_mbarrier(place);
      if (!reached || reached->pending == 0) return;
      --reached->pending;
      reached->settle();
      store_mbarrier(place, *reached);
    });
  });
}

void pending_count(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint64_t>(
      warp, op.d, [](std::uint64_t state) { return static_cast<std::uint32_t>(state & 0xFFFFF); }, op.a);
}

// ---- lowering

Op with_address(Lowering& lowering, std::size_t operand, Handler run) {
  const Address address = lowering.address(lowering.operand(operand));
  return Op{.run = run,
            .a = address.base,
            .immediate = address.offset,
            .aux = address.base_bits == 64 ? kWide : 0u};
}

Op with_count(Lowering& lowering, Handler run) {
  Op op = with_address(lowering, 0, run);
  op.b = lowering.source(lowering.operand(1), Type::u32);
  return op;
}

Op lower_arrive(Lowering& lowering) {
  Op op = with_address(lowering, 1, arrive);
  const Operand& state = lowering.operand(0);
  if (state.kind != OperandKind::sink) {
    op.d = lowering.destination(state, Type::b64);
    op.aux |= kKeepsState;
  }
  const bool bytes = lowering.has("expect_tx");
  if (bytes) {
    op.aux |= kExpectsBytes;
    op.c = lowering.source(lowering.operand(2), Type::u32);
  }
  if (lowering.has("arrive_drop")) op.aux |= kDrops;
  const bool counted = !bytes && lowering.operand_count() > 2;
  op.b = counted ? lowering.source(lowering.operand(2), Type::u32) : lowering.constant(1, 4);
  return op;
}

Op lower_wait(Lowering& lowering) {
  const bool parity = lowering.has("parity");
  Op op = with_address(lowering, 1, parity ? wait<true> : wait<false>);
  op.d = lowering.predicate_destination(lowering.operand(0));
  op.b = lowering.source(lowering.operand(2), parity ? Type::u32 : Type::b64);
  return op;
}

std::optional<Op> lower_mbarrier(Lowering& lowering) {
  lowering.accept_modifiers({"init", "inval", "expect_tx", "complete_tx", "arrive", "arrive_drop",
                             "noComplete", "test_wait", "try_wait", "parity", "pending_count", "relaxed",
                             "release", "acquire", "cta", "cluster", "shared", "shared::cta",
                             "shared::cluster"});
  lowering.classify(InstructionClass::barrier);
  if (lowering.has("init")) return with_count(lowering, init);
  if (lowering.has("inval")) return with_address(lowering, 0, invalidate);
  if (lowering.has("arrive") || lowering.has("arrive_drop")) return lower_arrive(lowering);
  if (lowering.has("expect_tx")) return with_count(lowering, expect_bytes);
  if (lowering.has("complete_tx")) return with_count(lowering, complete);
  if (lowering.has("test_wait") || lowering.has("try_wait")) return lower_wait(lowering);
  if (lowering.has("pending_count"))
    return Op{.run = pending_count,
              .d = lowering.destination(lowering.operand(0), Type::b32),
              .a = lowering.source(lowering.operand(1), Type::b64)};
  Lowering::unsupported("this form of mbarrier");
}

std::optional<Op> lower_arrive_after_copies(Lowering& lowering) {
  if (!lowering.has("mbarrier") || !lowering.has("async") || lowering.has("bulk")) return std::nullopt;
  lowering.accept_modifiers({"async", "mbarrier", "arrive", "noinc", "shared", "shared::cta"});
  lowering.classify(InstructionClass::barrier);
  return with_address(lowering, 0,
                      lowering.has("noinc") ? arrive_after_copies<false> : arrive_after_copies<true>);
}

}  // namespace

std::string describe_mbarrier_wait(const Warp& warp, const Op& op, int lane) {
  const auto place = shared_place(warp, address_of(warp, op, lane), kBytes);
  const auto barrier = place ? load_mbarrier(*place) : std::nullopt;
  return barrier ? "it waits for " + missing_text(*barrier) : std::string{};
}

std::span<const Mnemonic> mbarrier_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"mbarrier", lower_mbarrier, 1, true},
                                            {"cp", lower_arrive_after_copies, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator

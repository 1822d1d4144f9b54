// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/address_ops.h"

#include <algorithm>

#include "emulator/check/async_checker.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_access.h"

namespace ak::emulator {
namespace {

constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kClusterRankShift) - 1;

void do_nothing(Warp&, const Op&) {}

// immediate: the window's base.
void enter_window(Warp& warp, const Op& op) {
  const auto window = static_cast<std::uint64_t>(op.immediate);
  map_lanes<std::uint64_t, std::uint64_t>(
      warp, op.d, [window](std::uint64_t offset) { return offset + window; }, op.a);
}
void leave_window(Warp& warp, const Op& op) {
  const auto window = static_cast<std::uint64_t>(op.immediate);
  map_lanes<std::uint64_t, std::uint64_t>(
      warp, op.d, [window](std::uint64_t address) { return address - window; }, op.a);
}

// To shared memory. What lies elsewhere becomes an address that no shared memory has, even when the program
// keeps 32 bits of it only.
void leave_shared_window(Warp& warp, const Op& op) {
  map_lanes<std::uint64_t, std::uint64_t>(
      warp, op.d,
      [](std::uint64_t address) {
        return (address & kWindowMask) == kSharedWindow
                   ? address - kSharedWindow
                   : kElsewhereRank << kClusterRankShift | (address & kOffsetMask);
      },
      op.a);
}

// aux: a Space. Kernel parameters also lie in the global window (PTX ISA 9.0, description of isspacep).
bool lies_in(const Warp& warp, Space space, std::uint64_t address) {
  const std::uint64_t window = address & kWindowMask;
  const std::uint64_t rank = (address & ~kWindowMask) >> kClusterRankShift;
  switch (space) {
    case Space::shared:
      return window == kSharedWindow && (rank == 0 || rank == std::uint64_t{warp.block->cluster_rank} + 1);
    case Space::shared_cluster:
      return window == kSharedWindow;
    case Space::local:
      return window == kLocalWindow;
    case Space::param:
      return window == kParameterWindow;
    default:
      return window != kSharedWindow && window != kLocalWindow;
  }
}
void is_in_space(Warp& warp, const Op& op) {
  const auto* addresses = source<std::uint64_t>(warp, op.a);
  std::uint32_t inside = 0;
  for (int i = 0; i < kLanes; ++i)
    inside |= static_cast<std::uint32_t>(lies_in(warp, static_cast<Space>(op.aux), addresses[i])) << i;
  set_predicate(warp, op.d, inside);
}

/// The address at the same offset in the shared memory of block `rank`. A rank the cluster does not have
/// gives an address that no cluster has.
std::uint64_t in_block(const Warp& warp, std::uint64_t address, std::uint32_t rank) {
  constexpr std::uint64_t kNoRank = 0xFF;  // 32-bit addresses have 8 bits for it
  const std::uint64_t bits = rank < warp.block->cluster.size() ? std::uint64_t{rank} + 1 : kNoRank;
  return (address & (kOffsetMask | kWindowMask)) | bits << kClusterRankShift;
}
template <class T>
void map_to_block(Warp& warp, const Op& op) {
  map_lanes<T, T, std::uint32_t>(
      warp, op.d,
      [&warp](T address, std::uint32_t rank) {
        constexpr auto kKept = sizeof(T) == 4 ? kOffsetMask : ~std::uint64_t{0};
        return static_cast<T>(in_block(warp, address & kKept, rank));
      },
      op.a, op.b);
}
template <class T>
void rank_of_block(Warp& warp, const Op& op) {
  const std::uint32_t own = warp.block->cluster_rank;
  map_lanes<std::uint32_t, T>(
      warp, op.d,
      [own](T address) {
        const auto rank = static_cast<std::uint32_t>(address >> kClusterRankShift) & 0xFFu;
        return rank == 0 ? own : rank - 1;
      },
      op.a);
}

void make_policy(Warp& warp, const Op& op) {
  map_lanes<std::uint64_t>(warp, op.d, [] { return std::uint64_t{0}; });
}

// Between proxies. aux: of mbarriers just initialised only.
void proxy_fence(Warp& warp, const Op& op) {
  if (warp.launch->checker != nullptr) warp.launch->checker->async().proxy_fenced(warp, op.aux != 0);
}

// aux: device scope or wider.
void fence(Warp& warp, const Op& op) {
  if (warp.launch->checker != nullptr) warp.launch->checker->fenced(warp, op.aux != 0);
}

std::uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared:
    case Space::shared_cluster:
      return kSharedWindow;
    case Space::local:
      return kLocalWindow;
    case Space::param:
      return kParameterWindow;
    default:
      return 0;
  }
}

void expect_count(const Lowering& lowering, std::size_t count) {
  if (lowering.operand_count() != count) Lowering::unsupported("this number of operands");
}

/// A 64-bit address as it was computed: generic, or an offset in shared memory.
Type address_type(const Lowering& lowering) {
  const Type type = only_type(lowering);
  if (type != Type::u64 && type != Type::u32) Lowering::unsupported("an address of this type");
  return type;
}

/// mapa and getctarank without a space take generic addresses, which need 64 bits.
Type cluster_address_type(const Lowering& lowering) {
  lowering.accept_modifiers({"shared::cluster"});
  const Type type = address_type(lowering);
  if (type == Type::u32 && !lowering.has("shared::cluster"))
    Lowering::unsupported("a generic address of 32 bits");
  return type;
}

}  // namespace

std::optional<Op> lower_cvta(Lowering& lowering) {
  lowering.accept_modifiers({"to", "const", "global", "local", "param", "param::entry", "shared",
                             "shared::cta", "shared::cluster"});
  if (address_type(lowering) != Type::u64) Lowering::unsupported("addresses of 32 bits");
  expect_count(lowering, 2);
  Op op;
  const Space space = space_of(lowering, lowering.operand(1));
  if (space == Space::none) Lowering::unsupported("cvta without a state space");
  const bool shared = window_of(space) == kSharedWindow;
  op.run = !lowering.has("to") ? enter_window : shared ? leave_shared_window : leave_window;
  op.immediate = static_cast<std::int64_t>(window_of(space));
  op.d = lowering.destination(lowering.operand(0), Type::u64);
  op.a = lowering.source(lowering.operand(1), Type::u64);
  lowering.classify(InstructionClass::move);
  return op;
}

// Constant memory is part of global memory here, and a kernel could notice.
std::optional<Op> lower_isspacep(Lowering& lowering) {
  lowering.accept_modifiers(
      {"global", "local", "param", "param::entry", "shared", "shared::cta", "shared::cluster"});
  expect_count(lowering, 2);
  const bool parameter = lowering.has("param") || lowering.has("param::entry");
  const Space space = parameter ? Space::param : space_of(lowering, lowering.operand(1));
  if (space == Space::none) Lowering::unsupported("isspacep without a state space");
  Op op;
  op.run = is_in_space;
  op.aux = static_cast<std::uint32_t>(space);
  op.d = lowering.predicate_destination(lowering.operand(0));
  op.a = lowering.source(lowering.operand(1), Type::u64);
  lowering.classify(InstructionClass::predicate);
  return op;
}

std::optional<Op> lower_mapa(Lowering& lowering) {
  const Type type = cluster_address_type(lowering);
  expect_count(lowering, 3);
  Op op;
  op.run = type == Type::u32 ? map_to_block<std::uint32_t> : map_to_block<std::uint64_t>;
  op.d = lowering.destination(lowering.operand(0), type);
  op.a = lowering.source(lowering.operand(1), type);
  op.b = lowering.source(lowering.operand(2), Type::u32);
  lowering.classify(InstructionClass::integer);
  return op;
}

std::optional<Op> lower_getctarank(Lowering& lowering) {
  const Type type = cluster_address_type(lowering);
  expect_count(lowering, 2);
  Op op;
  op.run = type == Type::u32 ? rank_of_block<std::uint32_t> : rank_of_block<std::uint64_t>;
  op.d = lowering.destination(lowering.operand(0), Type::u32);
  op.a = lowering.source(lowering.operand(1), type);
  lowering.classify(InstructionClass::integer);
  return op;
}

std::optional<Op> lower_cache_control(Lowering& lowering) {
  lowering.accept_modifiers(
      {"global", "local", "const", "param", "L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap"});
  if (lowering.operand_count() < 1 || lowering.operand_count() > 2)
    Lowering::unsupported("this number of operands");
  static_cast<void>(lowering.address(lowering.operand(0)));
  Op op;
  op.run = do_nothing;
  lowering.classify(InstructionClass::other);
  return op;
}

std::optional<Op> lower_createpolicy(Lowering& lowering) {
  lowering.accept_modifiers({"fractional", "range", "cvt", "global", "L2", "L2::evict_last",
                             "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"});
  Op op;
  op.run = make_policy;
  op.d = lowering.destination(lowering.operand(0), Type::b64);
  lowering.classify(InstructionClass::other);
  return op;
}

std::optional<Op> lower_fence(Lowering& lowering) {
  lowering.accept_modifiers({"sc",
                             "acq_rel",
                             "acquire",
                             "release",
                             "cta",
                             "cluster",
                             "gpu",
                             "gl",
                             "sys",
                             "mbarrier_init",
                             "proxy",
                             "alias",
                             "async",
                             "global",
                             "shared::cta",
                             "shared::cluster",
                             "async::generic",
                             "tensormap::generic",
                             "sync_restrict::shared::cta",
                             "sync_restrict::shared::cluster"});
  // A proxy fence alone orders one thread's own accesses, nothing between threads.
  const bool own_only = lowering.has("proxy") && !lowering.has("acquire") && !lowering.has("release");
  const bool mbarriers = lowering.has("mbarrier_init");
  const bool asynchronous = lowering.has("proxy") && lowering.has("async") && !lowering.has("global");
  lowering.classify(InstructionClass::barrier);
  Op op;
  if (mbarriers || (own_only && asynchronous)) {
    op.run = proxy_fence;
    op.aux = mbarriers ? 1 : 0;
    return op;
  }
  op.run = own_only ? do_nothing : fence;
  op.aux = lowering.has("gpu") || lowering.has("gl") || lowering.has("sys") ? 1 : 0;
  return op;
}

}  // namespace ak::emulator

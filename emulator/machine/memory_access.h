// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {

// Warp-wide accesses to memory: from the address operand of an instruction to host memory behind each lane.

/// Op::aux of an instruction whose address is Op::a plus Op::immediate.
inline constexpr std::uint32_t kSpaceMask = 0xF;     ///< a Space; none: generic addressing
inline constexpr std::uint32_t kWideBase = 1u << 4;  ///< the base has 8 bytes per lane, not 4
inline constexpr std::uint32_t kStrong = 1u << 5;    ///< volatile, relaxed or stronger: no race with its like
inline constexpr std::uint32_t kAcquire = 1u << 6;
inline constexpr std::uint32_t kRelease = 1u << 7;
inline constexpr std::uint32_t kGridScope = 1u << 8;  ///< acquires or releases for the device, not the block
inline constexpr std::uint32_t kNonCoherent = 1u << 9;  ///< ld.global.nc
inline constexpr std::uint32_t kVolatile = 1u << 10;    ///< strong, yet nothing for its order to rely on
inline constexpr int kFreeAuxBits = 16;                 ///< bits from here on are the family's own

enum class Purpose : std::uint8_t {
  load,
  store,
  update,  ///< read-modify-write: possible in global and shared memory only
};

struct AccessRequest {
  std::uint32_t bytes = 0;  ///< a power of two, at most 32: also the alignment demanded
  AccessKind kind = AccessKind::read;
  Purpose purpose = Purpose::load;
};

/// How the memory of the lanes lies.
enum class Pattern : std::uint8_t {
  none,         ///< no lane may continue
  uniform,      ///< all lanes at `base`
  consecutive,  ///< all 32 lanes, one after the other from `base` on
  scattered,    ///< each lane at its entry of `pointers`
};

/// A resolved access. What the lanes of `mask` read and write is memory that they may touch.
struct Access {
  Pattern pattern;
  std::uint32_t mask;    ///< lanes that continue
  std::uint32_t failed;  ///< lanes that must not: their loads give zero
  std::uint32_t shared;  ///< lanes whose memory is shared memory
  std::uint32_t stride;  ///< bytes from lane to lane of `base`
  std::byte* base;
  /// What resolve() starts from, and afterwards scratch.
  alignas(64) std::uint64_t addresses[kLanes];
  /// When scattered; lanes that do not continue have the pointer of one that does.
  alignas(64) std::byte* pointers[kLanes];

  [[nodiscard]] std::byte* at(int lane) const {
    return pattern == Pattern::scattered ? pointers[lane] : base + static_cast<std::uint32_t>(lane) * stride;
  }
};

/// addresses[lane] = base + offset; of 4 bytes per lane they wrap around at 2^32.
void compute_addresses(const Warp& warp, Slot base, bool wide, std::int64_t offset, std::uint64_t* addresses);

/// Resolves the addresses in access.addresses for the lanes in warp.mask: generic windows, alignment, the
/// checker, bounds, and the counters. Reports faults.
void resolve(Warp& warp, const Op& op, Space space, const AccessRequest& request, Access& access);

/// The same for the address that `op` gives (constants above).
void resolve(Warp& warp, const Op& op, const AccessRequest& request, Access& access);

/// Records a fault of one lane; without a checker it ends the launch.
void report_fault(Warp& warp, const Op& op, FaultKind kind, int lane, std::uint64_t address,
                  std::uint32_t bytes);

/// What .acquire and .release of an access mean to the checker.
inline void release_before(Warp& warp, const Op& op) {
  if ((op.aux & kRelease) != 0 && warp.launch->checker != nullptr)
    warp.launch->checker->fenced(warp, (op.aux & kGridScope) != 0);
}
inline void acquire_after(Warp& warp, const Op& op) {
  if ((op.aux & kAcquire) != 0 && warp.launch->checker != nullptr)
    warp.launch->checker->fenced(warp, (op.aux & kGridScope) != 0);
}

// Lowering of what accesses have in common.

/// The state space among the modifiers: none without one. For .param it depends on the address operand.
[[nodiscard]] Space space_of(const Lowering& lowering, const Operand& address);
/// Op::a, immediate and the aux bits above from the address operand, the space, semantics and scope.
void lower_address(Lowering& lowering, const Operand& address, Op& op);
/// The only type among the modifiers.
[[nodiscard]] Type only_type(const Lowering& lowering);
/// 2, 4 or 8 for .v2, .v4, .v8, else 1.
[[nodiscard]] int vector_length(const Lowering& lowering);
/// Throws unless there are `count` operands, and one more, a cache policy, with .L2::cache_hint.
void expect_operands(Lowering& lowering, std::size_t count);

}  // namespace ak::emulator

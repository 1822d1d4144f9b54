// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/shared_range.h"

#include <fmt/format.h>

namespace ak::emulator {

void stop_with(Warp& warp, const Op& op, int lane, FaultKind kind, const std::string& why) {
  warp.launch->fault(warp, op, kind, lane, why);
  warp.launch->stop = true;
}

std::optional<SharedPlace> shared_range(Warp& warp, const Op& op, int lane, std::uint64_t address,
                                        std::uint64_t bytes, std::uint32_t alignment, AccessKind kind) {
  const auto place = shared_place(warp, address, bytes);
  if (!place) {
    stop_with(warp, op, lane, FaultKind::out_of_bounds,
              fmt::format("{} bytes of shared memory at address 0x{:x} do not exist", bytes, address));
    return std::nullopt;
  }
  if (place->offset % alignment != 0) {
    stop_with(warp, op, lane, FaultKind::misaligned,
              fmt::format("shared memory of this instruction lies at a multiple of {} bytes", alignment));
    return std::nullopt;
  }
  const bool own = place->block == warp.block;
  const std::uint64_t rank = own ? 0 : std::uint64_t{place->block->cluster_rank + 1};
  Checker* const checker = warp.launch->checker;
  if (checker != nullptr && bytes != 0 &&
      !checker->access_range(warp, op, own ? Space::shared : Space::shared_cluster,
                             place->offset | rank << kClusterRankShift, lane, bytes, kind))
    return std::nullopt;
  return place;
}

}  // namespace ak::emulator

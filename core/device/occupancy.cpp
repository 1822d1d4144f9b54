// SPDX-License-Identifier: Apache-2.0
#include "core/build.h"
#include "core/device/block_occupancy.h"

namespace ak {

Occupancy occupancy(const ArchLimits& limits, const KernelFacts& kernel, int threads_per_block,
                    int dynamic_shared_bytes) {
  const BlockOccupancy found =
      block_occupancy(limits, {.threads = threads_per_block,
                               .registers = kernel.registers,
                               .shared_bytes = kernel.static_shared_bytes + dynamic_shared_bytes,
                               .barriers = kernel.barriers});
  return {.blocks_per_sm = found.blocks_per_sm,
          .ratio = found.ratio(),
          .limiter = std::string(found.limiters().front())};
}

}  // namespace ak

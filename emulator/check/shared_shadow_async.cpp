// SPDX-License-Identifier: Apache-2.0
// What the async proxy may see of writes through the generic proxy (PTX ISA 9.0, "Proxies").
#include <bit>

#include "emulator/check/shared_shadow.h"

namespace ak::emulator {

void SharedShadow::read_asynchronously(std::uint32_t warp, int lane, Index op,
                                       std::span<const std::uint16_t> chunks) {
  const std::uint64_t reader = lane < 0 ? static_cast<std::uint64_t>(ThreadRecord::collective)
                                        : static_cast<std::uint64_t>(lane) << ThreadRecord::kLaneShift;
  const std::uint64_t mine =
      ThreadRecord::make(warp, warps_[warp].own, op, false) | ThreadRecord::kMask | reader;
  constexpr std::uint64_t kWords = 4;  // of a chunk
  for (const std::uint64_t chunk : chunks) {
    for (std::uint64_t word = chunk * kWords; word < chunk * kWords + kWords && word < reads_.size(); ++word)
      record({.warp = warp, .reads = true}, shared_words(word), mine);
  }
}

void SharedShadow::forget_writes(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t word = offset / 4; word < (offset + bytes) / 4 && word < writes_.size(); ++word)
    writes_[word] = 0;
}

void SharedShadow::proxy_fenced(std::uint32_t warp, std::uint32_t lanes, bool whole) {
  const std::uint32_t own = warps_[warp].own;
  VectorClock known = warps_[warp].seen;
  known.at[warp] = whole ? own : own - 1;
  if (whole)
    proxy_fences_.whole_warp(known);
  else
    proxy_fences_.some_lanes(warp, lanes, known, own);
  set_own(warp, own + 1);  // what the warp writes from here on has not passed the fence
}

Conflict SharedShadow::unfenced(const std::uint64_t* offsets, std::uint32_t mask, std::uint64_t bytes,
                                const std::function<bool(Index)>& counts) const {
  for (; mask != 0; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    const std::uint64_t end = (offsets[lane] + bytes + 3) / 4;
    for (std::uint64_t word = offsets[lane] / 4; word < end; ++word) {
      const ThreadRecord write{writes_[word]};
      // Of the async proxy itself, or none.
      if (write.pending() || write.bits == 0 || write.participant() >= kMaxWarps) continue;
      if (proxy_fences_.covers(write) || !counts(write.op())) continue;
      const std::uint64_t bits = (write.bits & ThreadRecord::kMask) >> ThreadRecord::kMaskShift;
      return {.lanes = mask,
              .lane = lane,
              .at = word * 4 + static_cast<std::uint64_t>(std::countr_zero(bits)),
              .record = write.bits,
              .other_writes = true,
              .unfenced = true};
    }
  }
  return {};
}

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/check/checker.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {

/// Adds a warp-wide access to the op's MemoryCount.
void add_access(Warp& warp, const Op& op, Space space, const std::uint64_t* addresses, std::uint32_t mask,
                std::uint32_t bytes);
/// The same for a whole warp.
void add_run(Warp& warp, const Op& op, Space space, const Run& run);
/// What an asynchronous copy of ranges moves: pieces of global memory and whole ranges of shared memory.
class CopyTraffic {
 public:
  void global(std::uint64_t address, std::uint64_t bytes);
  void shared(std::uint64_t bytes, std::uint64_t times);
  /// Adds it to the op's MemoryCount, as one request.
  void count(Warp& warp, const Op& op);

 private:
  MemoryCount count_;
  std::uint64_t shared_bytes_ = 0;
};
[[nodiscard]] inline bool counts_traffic(const Warp& warp) { return warp.launch->counters.memory_traffic; }
inline void count_access(Warp& warp, const Op& op, Space space, const std::uint64_t* addresses,
                         std::uint32_t mask, std::uint32_t bytes) {
  if (warp.launch->counters.memory_traffic && mask != 0) [[unlikely]]
    add_access(warp, op, space, addresses, mask, bytes);
}
inline void count_run(Warp& warp, const Op& op, Space space, const Run& run) {
  if (warp.launch->counters.memory_traffic) [[unlikely]]
    add_run(warp, op, space, run);
}

}  // namespace ak::emulator

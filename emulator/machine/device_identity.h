// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ak::emulator {

/// What special registers say of the device and of time, so that a kernel finds what a GPU would show it.
struct DeviceIdentity {
  std::uint32_t sm_count = 132, warps_per_sm = 64;  ///< of an H200 (NVIDIA's data sheet)
  std::uint32_t clock_mhz = 1'980;                  ///< the same
  std::uint64_t launch = 1;                         ///< %gridid: launches of a context are counted
  std::uint64_t start_ns = 0;                       ///< when the launch begins, since 1970-01-01 UTC
  /// How far %globaltimer moves at once, which PTX leaves open. From sm_90 on 32 ns, as an H200 shows; before, about a
  /// microsecond unless a profiler has asked for more, on an A100 1.024 us (public measurements).
  std::uint32_t timer_step_ns = 32;

  /// SM of a block: even numbers first, then odd ones, as one block after the other goes to another TPC.
  [[nodiscard]] std::uint32_t sm_of(std::uint64_t block) const {
    const auto place = static_cast<std::uint32_t>(block % sm_count), even = (sm_count + 1) / 2;
    return place < even ? 2 * place : 2 * (place - even) + 1;
  }
  /// %clock64 after so many warp instructions of the launch: it never runs backwards.
  [[nodiscard]] std::uint64_t cycles(std::uint64_t instructions) const {
    return up_ns() / 1'000 * clock_mhz + elapsed_cycles(instructions);
  }
  /// %globaltimer after so many warp instructions of the launch.
  [[nodiscard]] std::uint64_t timer_ns(std::uint64_t instructions) const {
    return (start_ns + elapsed_ns(instructions)) / timer_step_ns * timer_step_ns;
  }
  [[nodiscard]] std::uint64_t elapsed_ns(std::uint64_t instructions) const {
    return elapsed_cycles(instructions) * 1'000 / clock_mhz;
  }

 private:
  /// Since the device was started, which is taken to be within the last day.
  [[nodiscard]] std::uint64_t up_ns() const { return start_ns % 86'400'000'000'000; }
  // A dependent instruction is issued 4 cycles after the one before (sm_70 and later, "Dissecting the NVIDIA Volta
  // GPU Architecture via Microbenchmarking", 2018), or somewhat later: the golden ratio's multiples say when.
  [[nodiscard]] static std::uint64_t elapsed_cycles(std::uint64_t instructions) {
    return 4 * instructions + (instructions * 0x9E37'79B9'7F4A'7C15ull >> 62);
  }
};

}  // namespace ak::emulator

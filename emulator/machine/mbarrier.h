// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "emulator/machine/shared_place.h"

namespace ak::emulator {

/// The 64 bits of an mbarrier object (PTX ISA 9.0, "mbarrier": they are opaque to programs, only its phase,
/// pending and expected counts and tx-count are defined). Kept in the emulated shared memory itself.
struct Mbarrier {
  static constexpr std::int64_t kMaxArrivals = (1 << 20) - 1;
  static constexpr std::int64_t kMaxBytes = (1 << 20) - 1;  ///< of |tx-count|

  std::uint32_t pending = 0;   ///< arrivals the phase still waits for
  std::uint32_t expected = 0;  ///< arrivals a phase waits for
  std::int32_t bytes = 0;      ///< tx-count: announced and not yet transferred
  bool parity = false;         ///< of the current phase

  [[nodiscard]] std::uint64_t encode() const {
    return std::uint64_t{pending} | std::uint64_t{expected} << 20 |
           (static_cast<std::uint64_t>(bytes) & 0x1FFFFF) << 40 | kValid << 61 | std::uint64_t{parity} << 63;
  }
  /// Nothing when `word` was never initialised as an mbarrier.
  [[nodiscard]] static std::optional<Mbarrier> decode(std::uint64_t word) {
    if ((word >> 61 & 3) != kValid) return std::nullopt;
    Mbarrier barrier;
    barrier.pending = static_cast<std::uint32_t>(word & 0xFFFFF);
    barrier.expected = static_cast<std::uint32_t>(word >> 20 & 0xFFFFF);
    barrier.bytes = static_cast<std::int32_t>(static_cast<std::int64_t>(word << 3) >> 43);
    barrier.parity = (word >> 63) != 0;
    return barrier;
  }

  /// Ends the phase when everything it waits for has come.
  void settle() {
    if (pending != 0 || bytes != 0) return;
    parity = !parity;
    pending = expected;
  }

 private:
  static constexpr std::uint64_t kValid = 1;  ///< differs from fresh shared memory's pattern
};

[[nodiscard]] inline std::optional<Mbarrier> load_mbarrier(const SharedPlace& at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at.host(), sizeof word);
  return Mbarrier::decode(word);
}
inline void store_mbarrier(const SharedPlace& at, const Mbarrier& barrier) {
  const std::uint64_t word = barrier.encode();
  std::memcpy(at.host(), &word, sizeof word);
}

/// A copy engine reports `bytes` transferred. False when there is no mbarrier.
inline bool complete_bytes(const SharedPlace& at, std::uint32_t bytes) {
  auto barrier = load_mbarrier(at);
  if (!barrier) return false;
  barrier->bytes -= static_cast<std::int32_t>(bytes);  // shared memory is smaller than the tx-count's range
  barrier->settle();
  store_mbarrier(at, *barrier);
  return true;
}

}  // namespace ak::emulator

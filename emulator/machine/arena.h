// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace ak::emulator {

/// First address of emulated global memory: fixed, so that runs repeat, and where CUDA's driver maps a GPU's memory.
inline constexpr std::uint64_t kGlobalBase = 0x0000'7F20'0000'0000ull;

// Windows of the generic address space through which other spaces are seen. An address in a window is its
// base plus the offset in that space. They lie above global memory, as on a GPU, of which none has half a TiB.
inline constexpr std::uint64_t kSharedWindow = 0x0000'7FB6'0000'0000ull;
inline constexpr std::uint64_t kLocalWindow = 0x0000'7FB7'0000'0000ull;
inline constexpr std::uint64_t kParameterWindow = 0x0000'7FB8'0000'0000ull;
inline constexpr std::uint64_t kWindowMask = 0xFFFF'FFFF'0000'0000ull;

/// A shared::cluster address is rank + 1 of a block in its cluster in the bits from here on, and the offset
/// in that block's shared memory below; 0 there means the executing block itself.
inline constexpr int kClusterRankShift = 24;
/// There in what cvta.to.shared makes of a generic address that is not in shared memory.
inline constexpr std::uint64_t kElsewhereRank = 0xFE;

/// A byte range that kernels may touch and messages can name.
struct Region {
  std::uint64_t address = 0;  ///< multiple of kRegionGranule
  std::uint64_t bytes = 0;
  std::string name;  ///< "output 'y'"
  bool read_only = false;
  bool mapped = true;                          ///< false: reserved, but an access is a fault
  std::optional<bool> written = std::nullopt;  ///< every byte; nothing: someone must look
};
inline constexpr std::uint64_t kRegionGranule = 256;

/// Emulated global memory: one reserved range of host memory, so that no address computed by a kernel can
/// reach anything else, with allocations and named regions in it. One thread at a time.
class Arena {
 public:
  /// @param capacity_bytes reserved, not committed. Throws Error(environment) when it cannot be reserved.
  explicit Arena(std::uint64_t capacity_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Device address of new memory, 512-byte aligned, surrounded by unused granules; nothing when full.
  /// Contents are arbitrary and count as uninitialised. The whole allocation is one region at first.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes,
                                                      const std::string& name = "memory");
  /// False when `address` is not an allocation.
  bool release(std::uint64_t address);
  /// Makes [address, address + bytes) inside an allocation the region that accesses are checked against:
  /// what lies around it in the same allocation (guard bands) is then out of bounds.
  void set_region(std::uint64_t address, std::uint64_t bytes, const std::string& name,
                  bool read_only = false);
  void set_mapped(std::uint64_t address, bool mapped);

  /// Host memory behind [address, address + bytes), or null when that is not inside the part in use. Cheap:
  /// the bound for accesses that are not checked further.
  [[nodiscard]] std::byte* host(std::uint64_t address, std::uint64_t bytes) const noexcept {
    const std::uint64_t offset = address - kGlobalBase;
    return offset < used_ && bytes <= used_ - offset ? memory_ + offset : nullptr;
  }
  [[nodiscard]] std::byte* base() const noexcept { return memory_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] std::uint64_t free_bytes() const noexcept;

  /// Region that holds `address`, else the nearest one below or above within `reach` bytes (to name a buffer
  /// that was overrun); null when there is none.
  [[nodiscard]] const Region* find(std::uint64_t address) const noexcept;
  [[nodiscard]] const Region* nearest(std::uint64_t address, std::uint64_t reach = 1u << 20) const noexcept;

  // Which bytes have been written, one byte of state per byte of memory, kept while `track_initialized` is on
  // (host copies and memsets mark them through mark_initialized).
  void track_initialized(bool on);
  void mark_initialized(std::uint64_t address, std::uint64_t bytes, bool initialized) noexcept;
  /// Whether every byte of a read-only region is initialised: remembered until the host marks any of it.
  [[nodiscard]] bool all_written(const Region& region) noexcept;
  /// One byte per byte of memory, 1: initialised; null when not tracked. Index: address - kGlobalBase.
  [[nodiscard]] std::uint8_t* initialized() const noexcept { return initialized_; }

 private:
  std::byte* memory_ = nullptr;
  std::uint8_t* initialized_ = nullptr;
  std::uint64_t capacity_ = 0, used_ = 0;
  std::map<std::uint64_t, std::uint64_t> allocations_;  ///< address -> bytes reserved for it
  std::multimap<std::uint64_t, std::uint64_t> free_;    ///< bytes -> address
  std::vector<Region> regions_;                         ///< index 0 unused
  std::vector<std::uint32_t> region_of_granule_;        ///< granule -> index into regions_; 0: none
  std::map<std::uint64_t, std::uint32_t> regions_by_address_;
  std::vector<std::uint32_t> spare_regions_;  ///< indices into regions_ that can be used again

  using Allocation = std::map<std::uint64_t, std::uint64_t>::const_iterator;
  [[nodiscard]] std::optional<std::uint64_t> take_free(std::uint64_t bytes);
  void give_back(std::uint64_t address, std::uint64_t bytes);
  [[nodiscard]] Allocation allocation_of(std::uint64_t address) const;
  void add_region(Region region);
  void remove_regions(std::uint64_t address, std::uint64_t bytes);
};

}  // namespace ak::emulator

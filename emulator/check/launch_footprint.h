// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace ak::emulator {

/// Which bytes of global memory a launch read and wrote. A launch that may begin before this one has ended
/// (programmatic dependent launch) may not meet them until it has waited (PTX ISA, "griddepcontrol").
/// Atomic and volatile accesses are not among them: they may be how the two launches talk. Offsets count
/// from the arena's base.
class LaunchFootprint {
 public:
  void add(std::uint64_t offset, std::uint64_t bytes, bool writes);
  /// The same of a read, but for bytes that have been written before: those are no inputs.
  void add_input(std::uint64_t offset, std::uint64_t bytes);
  /// Whether an access touches a byte that this launch did, and one of the two writes.
  [[nodiscard]] bool meets(std::uint64_t offset, std::uint64_t bytes, bool writes) const;
  /// How many different bytes of a range were read, or written.
  [[nodiscard]] std::uint64_t bytes_read(std::uint64_t offset, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t bytes_written(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  static constexpr std::uint64_t kPageBytes = 1u << 16;  // chosen: 8 KiB of bits
  using Page = std::bitset<kPageBytes>;
  using Bytes = std::unordered_map<std::uint64_t, std::unique_ptr<Page>>;
  template <class Visit>
  static void for_each_page(std::uint64_t offset, std::uint64_t bytes, Visit visit);
  [[nodiscard]] static const Page* find(const Bytes& bytes, std::uint64_t page);
  [[nodiscard]] static Page& page_of(Bytes& bytes, std::uint64_t page);
  [[nodiscard]] static std::uint64_t count_of(const Bytes& bytes, std::uint64_t offset, std::uint64_t count);

  Bytes read_, written_;
};

}  // namespace ak::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ak::emulator {

/// What a matrix descriptor of wgmma says (PTX ISA 9.0, 9.7.15.5.1 "Register fragments and shared memory
/// matrix layouts"). Addresses and strides in bytes.
struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0, base_offset = 0;
  std::uint32_t atom =
      1;  ///< 16-byte chunks that lie side by side: 1 without swizzling, 2, 4, 8 for 32 ... 128 B
};
[[nodiscard]] constexpr MatrixDescriptor decode_descriptor(std::uint64_t bits) {
  constexpr std::uint32_t kAtoms[] = {1, 8, 4, 2};  // by the two bits of the swizzle mode
  const auto field = [&](int at) { return static_cast<std::uint32_t>(bits >> at & 0x3FFFu) << 4; };
  return {.start = field(0),
          .leading = field(16),
          .stride = field(32),
          .base_offset = static_cast<std::uint32_t>(bits >> 49 & 7u),
          .atom = kAtoms[bits >> 62]};
}

// Both layouts are made of blocks of 8 lines; a line of a block is `atom` chunks of 16 bytes. Swizzling then
// replaces the bits of an address that number the chunk in its line by their exclusive or with those that
// number the line.

[[nodiscard]] constexpr std::uint32_t swizzled(const MatrixDescriptor& matrix, std::uint32_t address) {
  return address ^ (address >> 7 & (matrix.atom - 1)) << 4;
}

/// Address of chunk `chunk` (along k, two of them) of row `line` of A or column `line` of B,
/// adjacent along k.
[[nodiscard]] constexpr std::uint32_t chunk_along_k(const MatrixDescriptor& matrix, std::uint32_t line,
                                                    std::uint32_t chunk) {
  const std::uint32_t step = matrix.atom == 1 ? matrix.leading : 16;
  return swizzled(matrix,
                  matrix.start + line % 8 * matrix.atom * 16 + line / 8 * matrix.stride + chunk * step);
}

/// Address of chunk `chunk` of the elements at `k`, adjacent along the rows of A or columns of B.
[[nodiscard]] constexpr std::uint32_t chunk_across_k(const MatrixDescriptor& matrix, std::uint32_t k,
                                                     std::uint32_t chunk) {
  const std::uint32_t in_block = k % 8 * matrix.atom * 16 + chunk % matrix.atom * 16;
  const std::uint32_t along = matrix.atom == 1 ? matrix.stride : matrix.leading;
  const std::uint32_t down = matrix.atom == 1 ? matrix.leading : matrix.stride;
  return swizzled(matrix, matrix.start + in_block + chunk / matrix.atom * along + k / 8 * down);
}

}  // namespace ak::emulator

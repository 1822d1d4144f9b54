// SPDX-License-Identifier: Apache-2.0
// Swizzles: where 16-byte chunks of a tile's lines lie in shared memory, so that columns meet different banks.
//
// Lines of 128, 64 or 32 bytes are exchanged as the tensor memory accelerator and wgmma do it: the chunk's number is
// combined with that of the line, so that any 8 neighbouring lines have the same chunk in different banks. A tile begins
// at a multiple of 1024 bytes (512, 256 for the narrower ones).
#pragma once

#include <ak/threads.cuh>

namespace ak {

/// Where chunk `chunk` of line `line` is stored among the chunks of that line. BYTES: of a line.
template <int BYTES = 128>
__device__ __forceinline__ int swizzled_chunk(int line, int chunk) {
  static_assert(BYTES == 128 || BYTES == 64 || BYTES == 32);
  if constexpr (BYTES == 128) return chunk ^ line % 8;
  if constexpr (BYTES == 64) return chunk ^ line / 2 % 4;
  return chunk ^ line / 4 % 2;
}

/// Offset in bytes of a chunk from the tile's begin.
template <int BYTES = 128>
__device__ __forceinline__ int swizzled(int line, int chunk) {
  return line * BYTES + swizzled_chunk<BYTES>(line, chunk) * 16;
}

/// Pitch, in elements, of a tile of words in shared memory of which rows are written and columns read: odd, so that a
/// column's words lie in different banks.
constexpr int odd_pitch(int width) { return width % 2 == 0 ? width + 1 : width; }

}  // namespace ak

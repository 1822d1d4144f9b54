// SPDX-License-Identifier: Apache-2.0
// Panels: 64 x 64 results of 16 bits of a warp group (wgmma), in shared memory on their way out.
//
// A panel has 64 lines of 128 swizzled bytes, as the tensor memory accelerator takes them: 8192 bytes, aligned to 1024.
// A whole panel leaves by tma_store. Where rows beyond some must not be written, as they belong to another, threads copy
// the others: 16 bytes each, a line by 8 neighbouring threads.
#pragma once

#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/swizzle.cuh>
#include <ak/vectors.cuh>

namespace ak {

[[maybe_unused]] constexpr int kPanelBytes = 64 * 128;

// Fills a panel from registers. value(i) is result i of the thread: column i / 4 * 8 + lane % 4 * 2 + i % 2 of row
// warp * 16 + lane / 4 + i / 2 % 2 * 8, as wgmma leaves its sums; i is below 32 and known when compiled.
template <class Element, class Value>
__device__ __forceinline__ void fill_panel(u32 panel, Value value) {
  const int lane = lane_index(), row = warp_index() % 4 * 16 + lane % 16;
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {  // of blocks of 8 columns
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = pack_pair<Element>(value(pair * 8 + i * 2), value(pair * 8 + i * 2 + 1));
    }
    store_matrices(panel + swizzled(row, pair * 2 + lane / 16), words[0], words[1], words[2], words[3]);
  }
}

// Copies the first `rows` lines and `columns` columns (a multiple of 8) of a panel to `to`, whose lines are `pitch`
// elements apart. All 128 threads of the warp group, behind a barrier of theirs.
template <class T>
__device__ __forceinline__ void copy_panel(T* to, long long pitch, u32 panel, int rows, int columns) {
  const int chunk = static_cast<int>(threadIdx.x) % 8;
  if (chunk * 8 >= columns) return;
#pragma unroll
  for (int row = static_cast<int>(threadIdx.x) % 128 / 8; row < 64; row += 16) {
    if (row < rows) {
      Pack<T, 8> pack;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(pack.raw.x), "=r"(pack.raw.y), "=r"(pack.raw.z), "=r"(pack.raw.w)
                   : "r"(panel + swizzled(row, chunk)) : "memory");
      store(to + row * pitch + chunk * 8, pack);
    }
  }
}

}  // namespace ak

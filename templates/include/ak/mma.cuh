// SPDX-License-Identifier: Apache-2.0
// Matrix products of a warp (mma.sync), by element type: 16 x 8 results and 32 bytes of k an instruction.
//
// k is 16 for f16 and bf16, 8 for tf32, 32 for s8, u8, e4m3 and e5m2 (fp8 from sm_89 on, the others from sm_80). A is
// row-major, B column-major, and whatever the type, the same bytes are in the same lanes:
//
//   a[0], a[1]: bytes lane % 4 * 4 of rows lane / 4 and lane / 4 + 8; a[2], a[3]: 16 bytes further along k
//   b0, b1:     bytes lane % 4 * 4 of column lane / 4, and 16 bytes further along k
//   d[0], d[1]: columns lane % 4 * 2 and the next of row lane / 4; d[2], d[3]: those of row lane / 4 + 8
#pragma once

#include <ak/elements.cuh>

namespace ak {

/// d (16 x 8) += a b over 32 bytes of k. In: f16, bf16, tf32, e4m3, e5m2 with float sums.
template <class In>
__device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k%10.row.col.f32.%11.%11.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "n"(32 / In::kBytes), "C"(In::kName));
}
/// The same for s8 and u8, with int sums.
template <class In>
__device__ __forceinline__ void mma(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.%10.%10.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "C"(In::kName));
}

}  // namespace ak

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

/// d (16 x 8) += a b over 32 bytes of k. In: f16, bf16, tf32, e4m3, e5m2 with float sums, s8, u8 with int sums.
template <class In>
__device__ __forceinline__ void mma(typename In::Sum (&d)[4], const u32 (&a)[4], u32 b0, u32 b1);

#define AKM_TYPE(In, LETTER, SHAPE)                                                                            \
  template <>                                                                                                  \
  __device__ __forceinline__ void mma<In>(In::Sum(&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {                 \
    asm("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
        : LETTER(d[0]), LETTER(d[1]), LETTER(d[2]), LETTER(d[3])                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                       \
  }
AKM_TYPE(f16, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
AKM_TYPE(bf16, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
AKM_TYPE(tf32, "+f", "m16n8k8.row.col.f32.tf32.tf32.f32")
AKM_TYPE(e4m3, "+f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
AKM_TYPE(e5m2, "+f", "m16n8k32.row.col.f32.e5m2.e5m2.f32")
AKM_TYPE(s8, "+r", "m16n8k32.row.col.s32.s8.s8.s32")
AKM_TYPE(u8, "+r", "m16n8k32.row.col.s32.u8.u8.s32")
#undef AKM_TYPE

}  // namespace ak

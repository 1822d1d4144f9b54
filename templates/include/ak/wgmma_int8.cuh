// SPDX-License-Identifier: Apache-2.0
// wgmma products of bytes (s8, u8, also mixed): 32 of them along k an instruction, int sums.
//
// Both operands lie along k. Widths are 8, 16, 24, 32 and from there multiples of 16. Sums wrap around.
#pragma once

#include <ak/wgmma.cuh>

namespace ak {

#define AKW_TAIL_INT8(I, J)
#define AKW_TAIL_INT8_R(I)

AKW_ROWS(s8, s8, "+r", "k32.s32.s8.s8", AKW_TAIL_INT8, AKW_TAIL_INT8_R)
AKW_ROWS(s8, u8, "+r", "k32.s32.s8.u8", AKW_TAIL_INT8, AKW_TAIL_INT8_R)
AKW_ROWS(u8, s8, "+r", "k32.s32.u8.s8", AKW_TAIL_INT8, AKW_TAIL_INT8_R)
AKW_ROWS(u8, u8, "+r", "k32.s32.u8.u8", AKW_TAIL_INT8, AKW_TAIL_INT8_R)

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
// wgmma products of fp8 numbers (e4m3, e5m2, also mixed): 32 of them along k an instruction, float sums.
//
// Both operands lie along k. Sums keep about 14 bits: promote them, that is add fresh sums of 128 of k, times their scales,
// to float registers, where that is not enough. Mixed types: Wgmma<e4m3, N, false, false, e5m2>.
#pragma once

#include <ak/wgmma.cuh>

namespace ak {

#define AKW_TAIL_FP8(I, J) ", 1, 1"
#define AKW_TAIL_FP8_R(I) ", 1, 1"

AKW_ROWS(e4m3, e4m3, "+f", "k32.f32.e4m3.e4m3", AKW_TAIL_FP8, AKW_TAIL_FP8_R)
AKW_ROWS(e4m3, e5m2, "+f", "k32.f32.e4m3.e5m2", AKW_TAIL_FP8, AKW_TAIL_FP8_R)
AKW_ROWS(e5m2, e4m3, "+f", "k32.f32.e5m2.e4m3", AKW_TAIL_FP8, AKW_TAIL_FP8_R)
AKW_ROWS(e5m2, e5m2, "+f", "k32.f32.e5m2.e5m2", AKW_TAIL_FP8, AKW_TAIL_FP8_R)

}  // namespace ak

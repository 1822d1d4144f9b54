// SPDX-License-Identifier: Apache-2.0
// wgmma products of tf32 numbers: 8 of them along k an instruction, float sums.
//
// Operands are 32-bit floats of which the lowest 13 bits are not looked at: round them before (round_to_tf32) where the
// error of cutting them off matters. Both lie along k.
#pragma once

#include <ak/wgmma.cuh>

namespace ak {

#define AKW_TAIL_TF32(I, J) ", 1, 1"
#define AKW_TAIL_TF32_R(I) ", 1, 1"

AKW_ROWS(tf32, tf32, "+f", "k8.f32.tf32.tf32", AKW_TAIL_TF32, AKW_TAIL_TF32_R)

}  // namespace ak

// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  y[threadIdx.x] = __shfl_xor_sync(0x0000FFFFu, x[threadIdx.x], 1);  // FAULT invalid_operand
}

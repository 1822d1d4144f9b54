// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  if (x[threadIdx.x] < 1e9f) asm volatile("trap;");  // FAULT trap
  y[threadIdx.x] = 0;
}

// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
  asm volatile("bar.sync 1, 96;" ::: "memory");  // FAULT deadlock
}

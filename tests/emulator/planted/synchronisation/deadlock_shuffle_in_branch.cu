// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 16) {
    v += __shfl_down_sync(0xFFFFFFFFu, v, 8);  // FAULT deadlock
    __syncwarp(0x0000FFFFu);
  } else {
    __syncwarp(0xFFFFFFFFu);  // FAULT deadlock
  }
  y[threadIdx.x] = v;
}

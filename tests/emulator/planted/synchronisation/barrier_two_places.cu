// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  if (threadIdx.x < 32) {
    y[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync 0;" ::: "memory");
  } else {
    y[threadIdx.x] = -x[threadIdx.x];
    asm volatile("bar.sync 0;" ::: "memory");  // FAULT barrier_divergence
  }
}

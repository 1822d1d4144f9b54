// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  float sum = 0;
#pragma unroll 1
  for (int j = 0; j <= threadIdx.x % 3; ++j) {
    sum += x[j];
    __syncthreads();  // FAULT barrier_divergence  // ALSO deadlock
  }
  y[threadIdx.x] = sum;
}

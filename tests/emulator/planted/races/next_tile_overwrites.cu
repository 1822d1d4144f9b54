// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 256}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  float sum = 0;
#pragma unroll 1
  for (int t = 0; t < 4; ++t) {
    tile[threadIdx.x] = x[t * 64 + threadIdx.x];  // FAULT shared_race
    __syncthreads();
    sum += tile[threadIdx.x ^ 32];
  }
  y[threadIdx.x] = sum;
}

// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 9}]}
extern "C" __global__ void k(const float* x, float* y, int n) {
  float window[8];
#pragma unroll 1
  for (int j = 0; j < n; ++j)
    window[j] = x[(threadIdx.x + j) % 32];  // FAULT out_of_bounds
  float sum = 0;
#pragma unroll 1
  for (int j = 0; j < 8; ++j) sum += window[j];
  y[threadIdx.x] = sum;
}

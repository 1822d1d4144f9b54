// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 7}]}
extern "C" __global__ void k(const float* x, float* y, int n) {
  float window[8];
#pragma unroll 1
  for (int j = 0; j < n; ++j) window[j] = x[(threadIdx.x + j) % 32];
  float largest = 0;
#pragma unroll 1
  for (int j = 0; j <= n; ++j)
    largest = fmaxf(largest, window[j]);  // FAULT uninitialized_read
  y[threadIdx.x] = largest;
}

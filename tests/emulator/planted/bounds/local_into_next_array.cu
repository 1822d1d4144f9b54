// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 256}, {"out": 32}, {"i32": 9}]}
// Two arrays of a thread lie one after the other: one write too many goes into the second.
extern "C" __global__ void k(const float* x, float* y, int n) {
  float history[8], weights[8];
  for (int j = 0; j < 8; ++j) weights[j] = x[j];
#ifdef FIXED
  n = 8;
#endif
#pragma unroll 1
  for (int j = 0; j < n; ++j) history[j] = x[threadIdx.x + j];  // FAULT out_of_bounds
  float sum = 0.0f;
#pragma unroll 1
  for (int j = 0; j < 8; ++j) sum += history[j] * weights[(j + static_cast<int>(x[0])) % 8];
  y[threadIdx.x] = sum;
}

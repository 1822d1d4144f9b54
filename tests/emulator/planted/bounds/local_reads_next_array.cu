// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 256}, {"out": 32}, {"i32": 8}]}
// The last bin is read one too far.
extern "C" __global__ void k(const float* x, float* y, int n) {
  int counts[8] = {};
  int order[8] = {};
#pragma unroll 1
  for (int j = 0; j < n; ++j) {
    ++counts[static_cast<int>(x[threadIdx.x + j]) % 8];
    order[j] = static_cast<int>(x[j]);
  }
  int sum = 0;
#ifdef FIXED
#pragma unroll 1
  for (int j = 0; j < n; ++j) sum += counts[j];
#else
#pragma unroll 1
  for (int j = 0; j <= n; ++j) sum += counts[j];  // FAULT out_of_bounds
#endif
  y[threadIdx.x] = sum + order[static_cast<int>(x[1])];
}

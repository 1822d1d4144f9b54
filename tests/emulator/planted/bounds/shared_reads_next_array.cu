// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 32}]}
// One element past the table: the first of the next one.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float table[32];
  __shared__ float other[32];
  const int i = threadIdx.x;
  table[i] = x[i];
  other[i] = -x[i];
  __syncthreads();
  float sum = other[i];
#ifdef FIXED
  for (int j = 0; j < n; ++j) sum += table[j];
#else
  for (int j = 0; j <= n; ++j) sum += table[j];  // FAULT out_of_bounds
#endif
  y[i] = sum;
}

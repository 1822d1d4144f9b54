// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}, {"i32": 48}]}
// The last lanes keep what their own slot never got.
extern "C" __global__ void k(const float* x, float* y, int n) {
  float best[4];
  const int i = threadIdx.x;
#pragma unroll 1
  for (int j = 0; j < (i < n ? 4 : 2); ++j) best[j] = x[(i + j) % 64];
  const int which = static_cast<int>(x[i]) % 4;
#ifdef FIXED
  const float v = i < n ? best[which] : best[which % 2];
#else
  const float v = best[i < n ? which : 3];  // FAULT uninitialized_read
#endif
  y[i] = v;
}

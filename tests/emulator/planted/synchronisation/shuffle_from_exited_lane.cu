// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 20}]}
// Threads beyond the end return, and those that stay still ask them for values.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = threadIdx.x;
#ifdef FIXED
  float v = i < n ? x[i] : 0.0f;
#else
  if (i >= n) return;
  float v = x[i];
#endif
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_down_sync(0xFFFFFFFFu, v, step);  // FAULT inactive_lane
    v += other;
  }
  if (i == 0) y[0] = v;
}

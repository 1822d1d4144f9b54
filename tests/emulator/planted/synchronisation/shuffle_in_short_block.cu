// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [24], "args": [{"in": 24}, {"out": 1}]}
// The block has 24 threads; the fold is written for 32.
extern "C" __global__ void k(const float* x, float* y) {
  float v = x[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_down_sync(0xFFFFFFFFu, v, step);  // FAULT inactive_lane
#ifdef FIXED
    if (threadIdx.x + step < 24) v += other;
#else
    v += other;
#endif
  }
  if (threadIdx.x == 0) y[0] = v;
}

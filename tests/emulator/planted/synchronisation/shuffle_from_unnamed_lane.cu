// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Half a warp folds its values, and its first step reaches into the other half.
extern "C" __global__ void k(const float* x, float* y) {
  const int i = threadIdx.x;
  float v = x[i];
  if (i < 16) {
#ifdef FIXED
    for (int step = 8; step > 0; step /= 2) {
#else
    for (int step = 16; step > 0; step /= 2) {
#endif
      const float other = __shfl_down_sync(0x0000FFFFu, v, step);  // FAULT inactive_lane
      v += other;
    }
  }
  if (i == 0) y[0] = v;
}

// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 1}]}
// The sum is complete in lane 0 only, and every lane stores what it has.
extern "C" __global__ void k(const float* x, float* total) {
  float sum = x[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_down_sync(0xFFFFFFFFu, sum, step);
    sum += other;
  }
#ifdef FIXED
  if (threadIdx.x == 0) *total = sum;
#else
  *total = sum;  // FAULT global_race
#endif
}

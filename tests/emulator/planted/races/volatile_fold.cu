// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 1}]}
// Folding the last 64 values in lockstep: lanes of a warp progress independently, volatile or not.
extern "C" __global__ void k(const float* x, float* total) {
  __shared__ float partial[64];
  const int i = threadIdx.x;
  partial[i] = x[i];
  __syncthreads();
  if (i < 32) {
    volatile float* v = partial;
#ifdef FIXED
    for (int step = 32; step > 0; step /= 2) {
      const float other = v[i + step];
      __syncwarp();
      v[i] += other;
      __syncwarp();
    }
#else
    v[i] += v[i + 32];
    v[i] += v[i + 16];  // FAULT shared_race
    v[i] += v[i + 8];   // FAULT shared_race
    v[i] += v[i + 4];   // FAULT shared_race
    v[i] += v[i + 2];   // FAULT shared_race
    v[i] += v[i + 1];   // FAULT shared_race
#endif
    if (i == 0) *total = v[0];
  }
}
